"""The Content-Type header, which comes from strangers."""

import pytest

from scrapejobs.domain.content_type import charset_of_mark, parse_content_type


@pytest.mark.case("target-31")
@pytest.mark.parametrize(
    ("value", "parsed"),
    [
        ("text/html", ("text/html", None)),
        ("Text/HTML; Charset=UTF-8", ("text/html", "utf-8")),
        ('application/json; x=1; charset="klingon"', ("application/json", "klingon")),
        ("", (None, None)),
        ("html", (None, None)),
        ("text/html\x00; charset=a b", (None, None)),
        ("text/" + "x" * 1000, ("text/" + "x" * 250, None)),
    ],
)
def test_media_type_and_charset_are_read_only_when_well_formed(value: str, parsed: tuple[str, str]) -> None:
    assert parse_content_type(value) == parsed


@pytest.mark.case("target-31")
@pytest.mark.parametrize(
    ("start", "charset"),
    [
        (b"\xef\xbb\xbfx", "utf-8"),
        (b"\xff\xfex\x00", "utf-16le"),
        (b"\xfe\xff\x00x", "utf-16be"),
        (b"\xef\xbb", None),
        (b"x\xef\xbb\xbf", None),
        (b"", None),
    ],
)
def test_a_byte_order_mark_says_the_charset(start: bytes, charset: str | None) -> None:
    assert charset_of_mark(start) == charset
