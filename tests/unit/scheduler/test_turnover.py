"""What the dispatcher may count on beside the slots that are free."""

import pytest

from scrapejobs.scheduler.turnover import SOON_S, Turnover


def turning(*, a_second: float, for_s: float, every_s: float = 0.01) -> Turnover:
    """A turnover that saw so many attempts end a second, evenly."""
    turnover, now, told = Turnover(now=0.0), 0.0, 0
    while now < for_s:
        now += every_s
        due = int(now * a_second) - told
        told += due
        turnover.ended(due, now=now)
    return turnover


@pytest.mark.req("NFR-8")
@pytest.mark.parametrize("a_second", [100, 1000, 5000])
def test_after_a_while_it_counts_on_what_ends_within_its_time(a_second: int) -> None:
    assert turning(a_second=a_second, for_s=5.0).soon() == pytest.approx(a_second * SOON_S, rel=0.05, abs=1)


@pytest.mark.req("NFR-6")
@pytest.mark.parametrize("seconds", [1.0, 20.0, 60.0])
def test_of_jobs_that_last_it_counts_on_none(seconds: float) -> None:
    assert turning(a_second=20 / seconds * 0.9, for_s=10 * seconds, every_s=0.5).soon() == 0


@pytest.mark.req("NFR-6")
def test_when_nothing_ends_any_more_it_soon_counts_on_nothing() -> None:
    turnover = turning(a_second=5000, for_s=5.0)
    turnover.ended(0, now=10.0)
    assert turnover.soon() == 0


@pytest.mark.req("NFR-6")
def test_two_looks_at_one_moment_count_once() -> None:
    turnover = Turnover(now=0.0)
    turnover.ended(5, now=0.0)
    assert turnover.soon() == 0
