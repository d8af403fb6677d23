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
        (b"//b.example", "http://b.example"),
        (b"/a//b/?", "http://a.example:8080/a//b/?"),
        (b"?", "http://a.example:8080/b/c/d?"),
        (b"#f", "http://a.example:8080/b/c/d?q=1"),
        (b"e?#f", "http://a.example:8080/b/c/e?"),
        (b"e//f;p=1;", "http://a.example:8080/b/c/e//f;p=1;"),
        (b"http:e", "http:e"),  # absolute, and refused by the parser
        (b"/a b", "http://a.example:8080/a%20b"),
        ("/caf\u00e9".encode("latin-1"), "http://a.example:8080/caf%E9"),
    ],
)
def test_a_location_is_followed_as_it_came(location: bytes, url: str) -> None:
    assert follow_location(BASE, location) == url


# RFC 3986, sections 5.4.1 and 5.4.2, without what is absolute there
REFERENCES = {"g": "/b/c/g", "./g": "/b/c/g", "g/": "/b/c/g/", "/g": "/g", "?y": "/b/c/d;p?y", "g?y": "/b/c/g?y"}
REFERENCES |= {"#s": "/b/c/d;p?q", "g#s": "/b/c/g", "g?y#s": "/b/c/g?y", ";x": "/b/c/;x", "g;x": "/b/c/g;x"}
REFERENCES |= {"g;x?y#s": "/b/c/g;x?y", ".": "/b/c/", "./": "/b/c/", "..": "/b/", "../": "/b/", "../g": "/b/g"}
REFERENCES |= {"../..": "/", "../../": "/", "../../g": "/g", "../../../g": "/g", "../../../../g": "/g", "g.": "/b/c/g."}
REFERENCES |= {".g": "/b/c/.g", "g..": "/b/c/g..", "..g": "/b/c/..g", "./../g": "/b/g", "./g/.": "/b/c/g/"}
REFERENCES |= {"g/./h": "/b/c/g/h", "g/../h": "/b/c/h", "g;x=1/./y": "/b/c/g;x=1/y", "g;x=1/../y": "/b/c/y"}
REFERENCES |= {"g?y/./x": "/b/c/g?y/./x", "g?y/../x": "/b/c/g?y/../x", "g#s/../x": "/b/c/g"}


@pytest.mark.case("target-37")
@pytest.mark.parametrize(("reference", "path"), REFERENCES.items())
def test_a_relative_reference_is_resolved_as_the_rfc_shows(reference: str, path: str) -> None:
    base = parse_target("http://a.example/b/c/d;p?q", policy=EgressPolicy())
    assert follow_location(base, reference.encode()) == f"http://a.example{path}"


@pytest.mark.case("target-37")
def test_empty_segments_of_the_base_are_kept() -> None:
    base = parse_target("http://a.example//b//c", policy=EgressPolicy())
    assert follow_location(base, b"d") == "http://a.example//b//d"


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    "location",
    [
        *(rb"\\b.example/", rb"/\b.example/", rb"http:\\b.example/", rb"http://a.example\@b.example/"),
        *(b"http:b.example", b"http:/b.example/", b"http:///b.example/", b"///b.example/", b"http://", b"//"),
        *(b"http://u:p@b.example/", b"//u@b.example/", b"http://b example/", b"http://b%2eexample/", b"http://<b>/"),
        *(b"http://b.example\xff/", "http://b\u3002example/".encode(), "http://b.example/\u200b".encode()),
        *("/\u0085x".encode(), b"http://2130706433/", b"//127.1/", b"http://b.example:080/", b"http://b.example:/"),
        b"http://b.example/" + b"a" * 5000,
    ],
)
def test_a_redirect_to_what_is_no_plain_url_leads_nowhere(location: bytes) -> None:
    with pytest.raises(InvalidUrl):
        parse_target(follow_location(BASE, location), policy=EgressPolicy())


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
