"""What is never shown (NFR-12)."""

import pytest

from scrapejobs.query.masking import shown_params

pytestmark = pytest.mark.req("NFR-12")


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "cookie",
        "X-Api-Key",
        "X-API-KEY",
        "apikey",
        "X-Auth-Token",
        "X-Amz-Security-Token",
        "Ocp-Apim-Subscription-Key",
        "X-Csrf-Token",
        "X-Session-Id",
        "X-Secret",
        "X-Signature",
    ],
)
def test_headers_that_carry_secrets_are_masked(name: str) -> None:
    assert shown_params({"headers": {name: "s3cret"}})["headers"] == {name: "***"}


@pytest.mark.parametrize("name", ["Accept", "Accept-Language", "User-Agent", "Referer", "X-Requested-With"])
def test_other_headers_are_shown(name: str) -> None:
    assert shown_params({"headers": {name: "plain"}})["headers"] == {name: "plain"}


def test_query_values_and_content_are_masked() -> None:
    params = {"query": {"q": "s3cret"}, "body": "s3cret", "json": {"value": "s3cret"}, "headers": {}}
    assert shown_params(params) == {"query": {"q": "***"}, "body": "***", "json": "***", "headers": {}}
    assert params["body"] == "s3cret"
