"""What is never shown (NFR-12)."""

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapejobs.domain.masking import (
    Request,
    masked_answer,
    masked_callback,
    masked_hop,
    masked_params,
    masked_url,
    parted,
    whole,
)

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


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://a.example/p?api_key=s3cret&x=1#f", "https://a.example/p?api_key=***&x=***"),
        ("https://a.example/p", "https://a.example/p"),
        ("https://a.example/p?", "https://a.example/p?"),
        ("https://a.example/p?s3cret", "https://a.example/p?***"),
        ("https://a.example/p?czNjcmV0==&flag=", "https://a.example/p?***&***"),
        ("https://a.example/p?a=1&&b=2", "https://a.example/p?a=***&&b=***"),
        ("https://a.example/p?a=b?c=d;e=s3cret", "https://a.example/p?a=***"),
    ],
)
def test_of_a_query_the_names_alone_are_shown(url: str, seen: str) -> None:
    assert masked_url(url) == seen
    assert masked_url(seen) == seen


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://me.example/", "https://me.example/"),
        ("https://me.example:8443/services/T0/s3cret", "https://me.example:8443/***"),
        ("https://me.example/?token=s3cret", "https://me.example/***"),
        ("https://me.example?token=s3cret", "https://me.example/***"),
        ("https://[2001:db8::1]/hook", "https://[2001:db8::1]/***"),
    ],
)
def test_of_a_callback_url_the_origin_alone_is_shown(url: str, seen: str) -> None:
    assert masked_callback(url) == seen
    assert masked_callback(seen) == seen


def test_of_a_url_that_a_target_chose_no_query_is_shown() -> None:
    assert masked_hop("https://a.example/p?api_key=secret&x=1#f") == "https://a.example/p?***"
    assert masked_hop("https://a.example/p") == "https://a.example/p"


def test_an_answers_cookies_and_tokens_are_masked_and_its_links_lose_their_queries() -> None:
    headers = [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Set-Cookie", "session=s3cret; Path=/"),
        ("set-cookie", "b=s3cret"),
        ("X-Csrf-Token", "s3cret"),
        ("Location", "/next?code=s3cret#state"),
        ("Link", '<https://a.example/2?cursor=s3cret>; rel="next"'),
        ("X-Amz-Signature", "s3cret"),
        ("ETag", '"abc"'),
    ]
    assert masked_answer(headers) == (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Set-Cookie", "***"),
        ("set-cookie", "***"),
        ("X-Csrf-Token", "***"),
        ("Location", "/next?***"),
        ("Link", '<https://a.example/2?***>; rel="next"'),
        ("X-Amz-Signature", "***"),
        ("ETag", '"abc"'),
    )


TEXT = st.text(max_size=8)
HEADERS = st.dictionaries(st.sampled_from(["Accept", "Cookie", "X-Key"]), TEXT)
PARAMS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["GET", "POST"]),
        "headers": HEADERS,
        "query": st.dictionaries(TEXT, TEXT, max_size=3),
        "body": st.none() | TEXT,
        "json": st.none() | st.fixed_dictionaries({"value": st.none() | TEXT | st.lists(TEXT)}),
    }
)


@given(query=st.none() | TEXT, params=PARAMS)
def test_the_two_parts_of_a_request_make_the_whole_and_the_seen_one_parts_no_further(
    query: str | None, params: dict[str, Any]
) -> None:
    url = "https://a.example/" + ("" if query is None else "?" + quote(query, safe="=&"))
    request = parted(url, params)
    assert whole(request) == (url, params)
    assert parted(request.url, request.params) == Request(request.url, request.params)
