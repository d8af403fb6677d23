"""Where a redirect leads: RFC 3986 references, with every legal byte left as it came."""

import pytest

from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.redirect import follow_location, next_method
from scrapejobs.domain.target import InvalidUrl, parse_target

BASE = parse_target("http://a.example:8080/b/c/d?q=1", policy=EgressPolicy())


@pytest.mark.case("target-37")
@pytest.mark.parametrize(
    ("location", "url"),
    [
        (b"/A_%26_B?s=%2F%27'%3a", "http://a.example:8080/A_%26_B?s=%2F%27'%3a"),
        (b"https://b.example/x?sig=a%2Bb+c==", "https://b.example/x?sig=a%2Bb+c=="),
        (b"//b.example/x", "http://b.example/x"),
        (b"e", "http://a.example:8080/b/c/e"),
        (b"../e?r=../x", "http://a.example:8080/b/e?r=../x"),
        (b"?r=2", "http://a.example:8080/b/c/d?r=2"),
        (b"/a/../b", "http://a.example:8080/a/../b"),
        (b"/a b", "http://a.example:8080/a%20b"),
        ("/caf\u00e9".encode("latin-1"), "http://a.example:8080/caf%E9"),
    ],
)
def test_a_location_is_followed_as_it_came(location: bytes, url: str) -> None:
    assert follow_location(BASE, location) == url


@pytest.mark.case("target-37")
def test_a_location_in_utf8_is_read_as_text_and_encoded_like_any_url() -> None:
    url = follow_location(BASE, "http://stra\u00dfe.example/caf\u00e9".encode())
    assert parse_target(url, policy=EgressPolicy()).url == "http://xn--strae-oqa.example/caf%C3%A9"


@pytest.mark.case("target-40")
@pytest.mark.parametrize("location", [b"", b"/a\rb", b"/a\nb", b"/a\x00b", b"/a\tb"])
def test_an_empty_location_or_one_with_controls_is_refused(location: bytes) -> None:
    with pytest.raises(InvalidUrl):
        follow_location(BASE, location)


@pytest.mark.case("target-39")
@pytest.mark.parametrize(
    ("method", "status", "following"),
    [
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("PUT", 303, "GET"),
        ("PUT", 302, "PUT"),
        ("HEAD", 303, "HEAD"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("GET", 302, "GET"),
    ],
)
def test_a_redirect_changes_the_method_as_its_status_says(method: str, status: int, following: str) -> None:
    assert next_method(method, status) == following
