"""A target's URL: the cases of tests/data/ssrf.jsonl, and the spelling that goes on the wire."""

import json
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.ports import PortPolicy
from scrapejobs.domain.target import InvalidUrl, Target, UrlNotAllowed, parse_target, with_query

CASES = Path(__file__).parents[2] / "data" / "ssrf.jsonl"
DEFAULT = EgressPolicy()


def cases() -> list[Any]:
    read = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [pytest.param(case, id=case["id"], marks=pytest.mark.case(case["id"])) for case in read]


def parse(url: str, **given: Any) -> Target:
    return parse_target(url, policy=given.pop("policy", DEFAULT), **given)


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize("case", cases())
def test_a_url_is_refused_at_intake_exactly_where_the_case_says(case: dict[str, Any]) -> None:
    schemes = {"schemes": frozenset({"https"})} if case["context"] == "callback" else {}
    if case["expect"] == "reject_at_intake":
        with pytest.raises((InvalidUrl, UrlNotAllowed)):
            parse(case["url"], **schemes)
    else:
        parse(case["url"], **schemes)


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "scheme"),
        ("http://www.example.com:22/", "port"),
        ("http://www.example.com:6379/", "port"),
        ("http://10.0.0.1/", "address"),
        ("http://localhost/", "address"),
        ("http://metadata.google.internal/", "address"),
    ],
)
def test_what_may_not_be_fetched_is_told_from_what_is_no_url(url: str, reason: str) -> None:
    with pytest.raises(UrlNotAllowed) as refused:
        parse(url)
    assert refused.value.reason == reason


@pytest.mark.case("in-061")
@pytest.mark.req("NFR-12")
def test_the_error_for_a_password_in_a_url_does_not_quote_it() -> None:
    with pytest.raises(InvalidUrl, match="user name or password") as refused:
        parse("https://user:hunter2@www.example.com/")
    assert "hunter2" not in str(refused.value)


@pytest.mark.req("NFR-6")
@pytest.mark.parametrize("url", ["HTTP://Shop.Example.:8080/", "https://shop.example/", "http://SHOP.example?x"])
def test_one_host_has_one_key_however_it_is_spelt(url: str) -> None:
    assert parse(url).host_key == "shop.example"


@pytest.mark.req("FR-1")
@pytest.mark.parametrize(
    ("given", "wire"),
    [
        ("http://www.example.com?x=1", "http://www.example.com/?x=1"),
        ("http://www.example.com/#@127.0.0.1/", "http://www.example.com/"),
        ("http://www.example.com?@127.0.0.1/", "http://www.example.com/?@127.0.0.1/"),
        ("http://www.example.com/../../etc/passwd", "http://www.example.com/../../etc/passwd"),
        ("http://www.example.com/a%0d%0aX:%20y", "http://www.example.com/a%0d%0aX:%20y"),
        ("https://www.example.com/A_%26_B?s=%2F%27'%3a", "https://www.example.com/A_%26_B?s=%2F%27'%3a"),
        ("http://stra\u00dfe.example.com/\u00fc?q=\u00e9", "http://xn--strae-oqa.example.com/%C3%BC?q=%C3%A9"),
        ("https://www.example.com:443/", "https://www.example.com/"),
        ("https://www.example.com:8443/", "https://www.example.com:8443/"),
        ("http://[2606:4700:4700:0::1111]:8080/x", "http://[2606:4700:4700::1111]:8080/x"),
    ],
)
def test_the_spelling_given_goes_on_the_wire(given: str, wire: str) -> None:
    assert parse(given).url == wire


@pytest.mark.req("NFR-11")
def test_an_operator_may_allow_loopback_literals_and_nothing_more_comes_with_them() -> None:
    policy = EgressPolicy(allow=(ip_network("127.0.0.0/8"),))
    assert parse("http://127.0.0.1:8080/", policy=policy).is_literal
    for url in ("http://localhost:8080/", "http://[::1]:8080/", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/"):
        with pytest.raises(UrlNotAllowed):
            parse(url, policy=policy)


@pytest.mark.req("NFR-11")
def test_an_operator_may_deny_further_ports_and_allow_listed_ones_and_a_denial_wins() -> None:
    assert parse("http://www.example.com:8080/").port == 8080
    policy = EgressPolicy(ports=PortPolicy(allow=frozenset({81, 9200, 8080}), deny=frozenset({8080, 443})))
    for port in (81, 9200):
        assert parse(f"http://www.example.com:{port}/", policy=policy).port == port
        with pytest.raises(UrlNotAllowed):
            parse(f"http://www.example.com:{port}/")
    for url in ("http://www.example.com:8080/", "https://www.example.com/"):
        with pytest.raises(UrlNotAllowed):
            parse(url, policy=policy)


@pytest.mark.req("FR-9")
def test_a_callback_may_be_held_to_https() -> None:
    with pytest.raises(UrlNotAllowed):
        parse("http://hooks.example.com/", schemes=frozenset({"https"}))


@pytest.mark.req("NFR-11")
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_what_is_read_reads_the_same_again(text: str) -> None:
    try:
        target = parse(f"http://{text}")
    except (InvalidUrl, UrlNotAllowed):
        return
    again = parse(target.url)
    assert (again.host, again.port, again.url) == (target.host, target.port, target.url)


@pytest.mark.req("FR-1")
@pytest.mark.parametrize(
    ("url", "wire"),
    [
        ("https://a.example/p", "https://a.example/p?q=a%20b%26c&%C3%BC=%2F"),
        ("https://a.example/p?x=%27#f", "https://a.example/p?x=%27&q=a%20b%26c&%C3%BC=%2F"),
    ],
)
def test_query_pairs_are_added_and_what_was_there_is_left(url: str, wire: str) -> None:
    assert with_query(url, {"q": "a b&c", "\u00fc": "/"}) == wire
    assert with_query(url, {}) == url
