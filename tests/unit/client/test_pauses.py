"""How long a call rests before it is repeated."""

from datetime import UTC, datetime

import pytest

from scrapejobs_client.pauses import FIRST_S, LONGEST_S, Pauses, retry_after_s

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("120", 120.0),
        ("Tue, 01 Dec 2026 12:00:30 GMT", 30.0),
        ("Tue, 01 Dec 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("", None),
    ],
)
def test_a_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None):
    assert retry_after_s(value, now=NOW) == seconds


def test_pauses_grow_up_to_a_bound_and_differ_by_chance():
    pauses = Pauses(1e9)
    rests = [pauses.next_s(None) for _ in range(200)]
    assert all(rest is not None and 0 <= rest <= min(LONGEST_S, FIRST_S * 2**n) for n, rest in enumerate(rests))
    assert max(rests[50:]) > LONGEST_S / 2  # 150 draws below the half: once in 10**45 runs
    assert len(set(rests)) > 100


def test_no_pause_is_shorter_than_asked_for_and_none_goes_beyond_the_time_for_retries():
    pauses = Pauses(100.0)
    for asked_s in (0.0, 3.0, 99.0):
        rest = pauses.next_s(asked_s)
        assert rest is not None
        assert asked_s <= rest <= asked_s + 0.5
    assert pauses.next_s(101.0) is None
