"""Retry-After in each of its forms."""

from datetime import UTC, datetime

import pytest

from scrapejobs.domain.retry_after import parse_retry_after

NOW = datetime(1994, 11, 6, 8, 49, 0, tzinfo=UTC)  # 37 s before RFC 9110's example


@pytest.mark.case("target-45")
@pytest.mark.req("NFR-6")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5.0),
        (" 5\t", 5.0),
        ("0", 0.0),
        ("31536000", 31_536_000.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 37.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 37.0),
        ("Sun Nov  6 08:49:37 1994", 37.0),
        ("Mon, 06 Nov 1995 08:49:00 GMT", 365 * 86_400.0),
        ("Sun, 06 Nov 1994 08:48:00 GMT", 0.0),
        ("-1", None),
        ("1e9", None),
        ("abc", None),
        ("", None),
        ("1.5", None),
        ("9" * 5000, None),
        ("\u0665", None),
        ("Sun, 99 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 99:99:99 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_nothing_else(value: str, seconds: float | None) -> None:
    assert parse_retry_after(value, now=NOW) == seconds
