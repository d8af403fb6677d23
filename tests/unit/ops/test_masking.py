import pytest

from scrapejobs.ops.masking import masked_params


@pytest.mark.req("NFR-12")
def test_values_that_may_be_secret_are_masked_and_their_names_shown():
    params = {
        "method": "POST",
        "headers": {"Authorization": "Bearer x"},
        "query": {"key": "x"},
        "body": "x",
        "json": {"password": "x"},
        "timeout_s": 60,
        "accept_statuses": [404],
    }
    assert masked_params(params) == {
        "method": "POST",
        "headers": {"Authorization": "***"},
        "query": {"key": "***"},
        "body": "***",
        "json": "***",
        "timeout_s": 60,
        "accept_statuses": [404],
    }


@pytest.mark.req("NFR-12")
def test_what_is_not_known_is_masked():
    assert masked_params({"cookies": {"session": "x"}, "body": None}) == {"cookies": "***", "body": None}
