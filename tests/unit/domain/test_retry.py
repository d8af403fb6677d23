"""The planner, as a table of cases (requirements, "Life of a job")."""

from dataclasses import replace

import pytest

from scrapejobs.domain.outcome import (
    Cancelled,
    Exchange,
    Lost,
    Outcome,
    Permanent,
    Released,
    Stored,
    StoredResult,
    Temporary,
)
from scrapejobs.domain.retry import RetryPolicy, Standing, backoff_s, plan

POLICY = RetryPolicy(base_s=2.0, cap_s=600.0, retry_after_cap_s=3600.0, max_lost=3)
FRESH = Standing(attempts=0, lost=0, max_attempts=5, remaining_s=86_400.0, may_repeat=True, number=1)
UNSAFE = replace(FRESH, may_repeat=False)
STORED = Stored(StoredResult("k", 1, "s", None, None, (), "http://h/", 200, "yes"), Exchange())
TIMEOUT = Temporary("timeout", "t", "headers")
CASES: dict[str, tuple[Outcome, Standing, tuple[str, bool, bool, str | None]]] = {
    # outcome, standing -> next, charged, lost, code
    "stored": (STORED, FRESH, ("succeeded", True, False, None)),
    "permanent": (Permanent("http_404", "d"), FRESH, ("failed", True, False, "http_404")),
    "first temporary": (TIMEOUT, FRESH, ("queued", True, False, "timeout")),
    "last but one": (TIMEOUT, replace(FRESH, attempts=3), ("queued", True, False, "timeout")),
    "last": (TIMEOUT, replace(FRESH, attempts=4), ("failed", True, False, "timeout")),
    "only one allowed": (TIMEOUT, replace(FRESH, max_attempts=1), ("failed", True, False, "timeout")),
    "unsafe, sent": (TIMEOUT, UNSAFE, ("failed", True, False, "timeout")),
    "unsafe, phase unknown": (replace(TIMEOUT, phase=None), UNSAFE, ("failed", True, False, "timeout")),
    "unsafe, at dns": (replace(TIMEOUT, phase="dns"), UNSAFE, ("queued", True, False, "timeout")),
    "unsafe, at connect": (replace(TIMEOUT, phase="connect"), UNSAFE, ("queued", True, False, "timeout")),
    "unsafe, at tls": (replace(TIMEOUT, phase="tls"), UNSAFE, ("queued", True, False, "timeout")),
    "ours": (Temporary("worker_error", "d"), FRESH, ("queued", False, False, "worker_error")),
    "ours, attempts used up": (
        Temporary("worker_error", "d"),
        replace(FRESH, attempts=4),
        ("queued", False, False, "worker_error"),
    ),
    "ours, deadline before the retry": (
        Temporary("store_unavailable", "d"),
        replace(FRESH, remaining_s=0.5),
        ("failed", False, False, "store_unavailable"),
    ),
    "ours, unsafe": (
        Temporary("store_unavailable", "d", "body"),
        UNSAFE,
        ("failed", False, False, "store_unavailable"),
    ),
    "deadline before the retry": (
        TIMEOUT,
        replace(FRESH, remaining_s=0.5),
        ("failed", True, False, "deadline_exceeded"),
    ),
    "lost": (Lost(), FRESH, ("queued", False, True, "lost_worker")),
    "second lost": (Lost(), replace(FRESH, lost=1), ("queued", False, True, "lost_worker")),
    "third lost": (Lost(), replace(FRESH, lost=2), ("failed", False, True, "poison")),
    "lost, unsafe": (Lost(), UNSAFE, ("failed", False, True, "lost_worker")),
    "lost, overdue": (Lost(), replace(FRESH, remaining_s=0.0), ("failed", False, True, "deadline_exceeded")),
    "released": (Released(), FRESH, ("queued", False, False, None)),
    "released, unsafe, sent": (Released(), UNSAFE, ("failed", False, False, "lost_worker")),
    "released, unsafe, not sent": (Released(sent=False), UNSAFE, ("queued", False, False, None)),
    "cancelled": (Cancelled(), UNSAFE, ("queued", False, False, None)),
}


@pytest.mark.req("NFR-7")
@pytest.mark.req("NFR-4")
@pytest.mark.parametrize("name", CASES)
def test_the_plan_for(name: str) -> None:
    outcome, standing, expected = CASES[name]
    decided = plan(outcome, standing, POLICY, random=lambda: 0.5)
    assert (decided.next, decided.charged, decided.lost, decided.reason and decided.reason.code) == expected


@pytest.mark.req("NFR-7")
@pytest.mark.parametrize(("attempt", "most_s"), [(1, 2.0), (2, 4.0), (3, 8.0), (9, 512.0), (10, 600.0), (5000, 600.0)])
def test_backoff_is_spread_evenly_up_to_a_doubling_limit(attempt: int, most_s: float) -> None:
    assert backoff_s(attempt, POLICY, lambda: 0.0) == 0.0
    assert backoff_s(attempt, POLICY, lambda: 0.25) == most_s / 4
    assert backoff_s(attempt, POLICY, lambda: 0.999_999) == pytest.approx(most_s, rel=1e-5)


@pytest.mark.req("NFR-6")
@pytest.mark.parametrize(
    ("asked_s", "delay_s", "pause_s"),
    [(None, 1.0, None), (0.5, 1.0, 0.5), (60.0, 60.0, 60.0), (90_000.0, 3600.0, 3600.0)],
)
def test_a_retry_comes_no_sooner_than_the_target_asked_and_its_host_rests(
    asked_s: float | None, delay_s: float, pause_s: float | None
) -> None:
    decided = plan(replace(TIMEOUT, code="http_429", retry_after_s=asked_s), FRESH, POLICY, random=lambda: 0.5)
    assert (decided.next, decided.delay_s, decided.host_pause_s) == ("queued", delay_s, pause_s)


@pytest.mark.req("NFR-6")
@pytest.mark.parametrize(
    "standing", [replace(FRESH, attempts=4), UNSAFE, replace(FRESH, remaining_s=1.0)], ids=["last", "unsafe", "overdue"]
)
def test_the_host_rests_also_when_the_job_is_not_repeated(standing: Standing) -> None:
    decided = plan(replace(TIMEOUT, retry_after_s=60.0), standing, POLICY, random=lambda: 0.5)
    assert (decided.next, decided.host_pause_s) == ("failed", 60.0)


@pytest.mark.req("NFR-7")
def test_a_retry_waits_at_least_a_moment_and_a_returned_job_does_not() -> None:
    assert plan(TIMEOUT, FRESH, POLICY, random=lambda: 0.0).delay_s > 0
    assert plan(Lost(), FRESH, POLICY, random=lambda: 0.9).delay_s == 0
    assert plan(Released(), FRESH, POLICY, random=lambda: 0.9).delay_s == 0


@pytest.mark.req("NFR-6")
def test_a_fault_of_ours_backs_off_by_the_number_of_the_attempt_though_it_is_not_charged() -> None:
    fault = Temporary("worker_error", "d")
    delays = [plan(fault, replace(FRESH, number=n), POLICY, random=lambda: 1.0).delay_s for n in (1, 2, 5, 50)]
    assert delays == [2.0, 4.0, 32.0, 600.0]
