"""Every kind of URL that may not be read or not be fetched, many of each kind, and their harmless neighbours."""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapejobs.domain.addresses import EgressPolicy, OwnEndpoints
from scrapejobs.domain.ports import DENIED_PORTS
from scrapejobs.domain.target import MAX_URL_CHARS, InvalidUrl, Target, UrlNotAllowed, parse_target

pytestmark = pytest.mark.req("NFR-11")

KINDS = json.loads((Path(__file__).parents[2] / "data" / "url-kinds.json").read_text(encoding="ascii"))


def parse(url: str, **given: Any) -> Target:
    return parse_target(url, policy=given.pop("policy", EgressPolicy()), **given)


NO_URL = KINDS["no-url"] | {
    "length": [f"http://a.example/{'a' * MAX_URL_CHARS}", "http://a.example/" + "\u00fc" * 1500]
}
PORTS = [f"http://a.example:{port}/" for port in sorted(DENIED_PORTS | {1, 21, 22, 25, 53, 81, 110, 442, 444, 1023})]
NOT_ALLOWED = KINDS["not-allowed"] | {"port": PORTS}


@pytest.mark.parametrize(
    "url", [pytest.param(url, id=f"{kind}-{n}") for kind, urls in NO_URL.items() for n, url in enumerate(urls)]
)
def test_what_is_no_plain_url_is_not_read(url: str) -> None:
    with pytest.raises(InvalidUrl) as refused:
        parse(url)
    for part in ("a.example", "127", "xn--"):
        assert part not in str(refused.value), "the error quotes the URL"


def forbidden_characters() -> Iterator[str]:
    """Unicode's white space and controls (the White_Space property, Cc), its line and paragraph separators, and
    invisible format characters.
    """
    yield from (
        chr(n) for n in [*range(0x21), 0x7F, *range(0x80, 0xA1), 0x1680, *range(0x2000, 0x200C), 0x2028, 0x2029]
    )
    yield from (chr(n) for n in [0x202F, 0x205F, 0x3000, 0x180E, 0x200E, 0x200F, *range(0x202A, 0x202F)])
    yield from (chr(n) for n in [*range(0x2060, 0x2065), *range(0x2066, 0x2070), 0xFEFF, 0xAD, 0xE0001, 0xD800, 0xDFFF])


@pytest.mark.parametrize(
    "form",
    [
        *("{}http://a.example/", "ht{}tp://a.example/", "http:{}//a.example/", "http:/{}/a.example/"),
        *("http://{}a.example/", "http://a{}.example/", "http://a.example{}/", "http://a.example:8{}0/"),
        *("http://a.example/{}", "http://a.example/x{}y", "http://a.example/?x={}", "http://a.example/#{}"),
    ],
)
def test_no_white_space_control_or_invisible_character_is_read_anywhere(form: str) -> None:
    for character in forbidden_characters():
        with pytest.raises(InvalidUrl):
            parse(form.format(character))


def test_no_lookalike_of_a_digit_a_letter_or_a_dot_stands_for_it_in_a_host() -> None:
    """Every character that NFKC, and so UTS 46, turns into ASCII: what other parsers map, this one refuses."""
    lookalikes = [
        chr(n)
        for n in range(0x80, 0x30000)
        if not 0xD800 <= n <= 0xDFFF and unicodedata.normalize("NFKC", chr(n)).isascii()
    ]
    assert len(lookalikes) > 1000
    for character in lookalikes:
        for form in ("http://{}.example/", "http://a{}b.example/", "http://127.0.0.{}/", "http://localhost{}/"):
            with pytest.raises((InvalidUrl, UrlNotAllowed)):
                parse(form.format(character))


@pytest.mark.parametrize(("reason", "url"), [(reason, url) for reason, urls in NOT_ALLOWED.items() for url in urls])
def test_what_may_not_be_reached_is_refused_and_told_why(reason: str, url: str) -> None:
    with pytest.raises(UrlNotAllowed) as refused:
        parse(url)
    assert refused.value.reason == reason


@pytest.mark.parametrize(("url", "wire"), KINDS["read"])
def test_what_only_looks_odd_is_read(url: str, wire: str) -> None:
    assert parse(url).url == wire


def test_the_longest_url_is_read_and_one_character_more_is_not() -> None:
    longest = f"http://a.example/{'a' * (MAX_URL_CHARS - len('http://a.example/'))}"
    assert parse(longest).url == longest
    with pytest.raises(InvalidUrl):
        parse(longest + "a")


def test_web_socket_urls_are_read_where_they_are_asked_for() -> None:
    schemes = frozenset({"ws", "wss"})
    assert [parse(f"{scheme}://a.example/", schemes=schemes).port for scheme in ("ws", "wss")] == [80, 443]
    with pytest.raises(UrlNotAllowed):
        parse("http://a.example/", schemes=schemes)


def test_the_names_of_our_own_servers_are_refused_at_their_ports_alone() -> None:
    policy = EgressPolicy(own=OwnEndpoints(names=frozenset({("store.shop.example", 9000)})))
    with pytest.raises(UrlNotAllowed, match="deny-own-endpoint"):
        parse("http://Store.Shop.Example.:9000/bucket", policy=policy)
    assert parse("http://store.shop.example/", policy=policy).port == 80
