"""What is never shown (NFR-12)."""

import pytest

from scrapejobs.domain.masking import masked_params

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
        "X-Of-A-Kind-Nobody-Listed",
    ],
)
def test_headers_that_carry_secrets_are_masked(name: str) -> None:
    assert masked_params({"headers": {name: "s3cret"}})["headers"] == {name: "***"}


@pytest.mark.parametrize("name", ["Accept", "Accept-Language", "User-Agent", "Content-Type", "X-Requested-With"])
def test_harmless_headers_are_shown(name: str) -> None:
    assert masked_params({"headers": {name: "plain"}})["headers"] == {name: "plain"}


def test_query_values_and_content_are_masked() -> None:
    params = {"query": {"q": "s3cret"}, "body": "s3cret", "json": {"value": "s3cret"}, "headers": {}}
    assert masked_params(params) == {"query": {"q": "***"}, "body": "***", "json": "***", "headers": {}}
    assert params["body"] == "s3cret"


def test_what_is_not_known_is_masked() -> None:
    assert masked_params({"cookies": {"session": "x"}, "body": None}) == {"cookies": "***", "body": None}


def test_limits_and_switches_are_shown() -> None:
    params = {"method": "POST", "timeout_s": 5.0, "retry_unsafe": True, "expect": {"json": True}}
    assert masked_params(params) == params
