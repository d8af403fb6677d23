"""The planner's rules for every job, outcome and policy there can be (requirements, "Life of a job")."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapejobs.domain.outcome import Exchange, Lost, Outcome, Permanent, Released, Stored, StoredResult, Temporary
from scrapejobs.domain.retry import OURS, Plan, RetryPolicy, Standing, backoff_s, plan

STORED = Stored(StoredResult("k", 1, "s", None, None, (), "http://h/", 200, "yes"), Exchange())
LEAST_S = 0.001
"""Of a retry's delay: 0 would put it to the front of its queue."""

seconds = st.floats(min_value=0.001, max_value=1e6)
chances = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)
policies = st.builds(RetryPolicy, base_s=seconds, cap_s=seconds, retry_after_cap_s=seconds, max_lost=st.integers(1, 9))
temporaries = st.builds(
    Temporary,
    code=st.sampled_from(["timeout", "http_429", "http_503", "body_incomplete", *sorted(OURS)]),
    detail=st.just("d"),
    phase=st.sampled_from(["dns", "connect", "tls", "headers", "body", None]),
    retry_after_s=st.none() | st.floats(min_value=0.0, max_value=1e9),
)
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    temporaries,
    st.builds(Permanent, code=st.just("http_404")),
    st.builds(Released, sent=st.booleans()),
    st.just(Lost()),
    st.just(STORED),
)


@st.composite
def standings(draw: st.DrawFn) -> Standing:
    """Where a job may stand when one more attempt of it ends."""
    max_attempts = draw(st.integers(1, 20))
    attempts = draw(st.integers(0, max_attempts - 1))
    return Standing(
        attempts=attempts,
        lost=draw(st.integers(0, 8)),
        max_attempts=max_attempts,
        remaining_s=draw(st.floats(min_value=-1e6, max_value=1e6)),
        may_repeat=draw(st.booleans()),
        number=attempts + draw(st.integers(1, 1000)),
    )


def planned(outcome: Outcome, standing: Standing, policy: RetryPolicy, chance: float) -> Plan:
    return plan(outcome, standing, policy, random=lambda: chance)


@pytest.mark.req("NFR-7")
@given(policy=policies, attempt=st.integers(1, 100_000), chance=chances)
def test_backoff_is_never_above_its_doubling_limit_nor_its_cap(
    policy: RetryPolicy, attempt: int, chance: float
) -> None:
    limit_s = policy.base_s * 2 ** min(attempt - 1, 40)  # 2**40 x 1 ms is above every cap
    assert 0.0 <= backoff_s(attempt, policy, lambda: chance) <= min(policy.cap_s, limit_s)


@pytest.mark.req("NFR-7")
@given(policy=policies, attempt=st.integers(1, 100_000), chance=chances)
def test_jitter_is_full_so_the_delay_is_chances_share_of_the_limit(
    policy: RetryPolicy, attempt: int, chance: float
) -> None:
    assert backoff_s(attempt, policy, lambda: chance) == pytest.approx(chance * backoff_s(attempt, policy, lambda: 1.0))


@pytest.mark.req("NFR-6")
@given(outcome=temporaries, standing=standings(), policy=policies, chance=chances)
def test_a_retry_comes_neither_before_retry_after_nor_before_our_own_backoff_nor_after_the_deadline(
    outcome: Temporary, standing: Standing, policy: RetryPolicy, chance: float
) -> None:
    decided = planned(outcome, standing, policy, chance)
    if decided.next != "queued":
        return
    asked_s = min(outcome.retry_after_s or 0.0, policy.retry_after_cap_s)
    turn = standing.number if outcome.code in OURS else standing.attempts + 1
    own_s = backoff_s(turn, policy, lambda: chance)
    assert decided.delay_s >= max(asked_s, own_s, LEAST_S)
    assert decided.delay_s <= max(policy.cap_s, policy.retry_after_cap_s, LEAST_S)
    assert decided.delay_s < standing.remaining_s


@pytest.mark.req("NFR-6")
@given(outcome=temporaries, standing=standings(), policy=policies, chance=chances)
def test_the_host_rests_as_long_as_it_asked_up_to_the_cap_whatever_becomes_of_the_job(
    outcome: Temporary, standing: Standing, policy: RetryPolicy, chance: float
) -> None:
    asked_s = outcome.retry_after_s
    expected = min(asked_s, policy.retry_after_cap_s) if asked_s else None
    assert planned(outcome, standing, policy, chance).host_pause_s == expected


@pytest.mark.req("NFR-7")
@given(outcome=outcomes, standing=standings(), policy=policies, chance=chances)
def test_faults_of_ours_are_never_charged_and_never_said_to_be_the_jobs(
    outcome: Outcome, standing: Standing, policy: RetryPolicy, chance: float
) -> None:
    decided = planned(outcome, standing, policy, chance)
    is_ours = isinstance(outcome, Lost | Released) or getattr(outcome, "code", None) in OURS
    assert decided.charged is not is_ours
    if getattr(outcome, "code", None) in OURS:
        assert decided.reason is not None
        assert (decided.reason.cls, decided.reason.code) == ("temporary", outcome.code)  # type: ignore[union-attr]


@pytest.mark.req("NFR-4")
@given(outcome=outcomes, standing=standings(), policy=policies, chance=chances)
def test_what_the_target_may_have_taken_is_repeated_only_if_that_is_safe(
    outcome: Outcome, standing: Standing, policy: RetryPolicy, chance: float
) -> None:
    decided = planned(outcome, replace(standing, may_repeat=False), policy, chance)
    untouched = getattr(outcome, "phase", None) in {"dns", "connect", "tls"} or outcome == Released(sent=False)
    assert decided.next != "queued" or untouched


@pytest.mark.req("NFR-7")
@given(policy=policies, max_attempts=st.integers(1, 20), ends=st.lists(st.tuples(outcomes, chances), max_size=60))
def test_no_job_is_charged_more_attempts_than_it_may_have_nor_loses_more_workers_than_make_it_poison(
    policy: RetryPolicy, max_attempts: int, ends: list[tuple[Outcome, float]]
) -> None:
    """A job's whole life, its counters kept as `lease/report.sql` keeps them."""
    standing = Standing(attempts=0, lost=0, max_attempts=max_attempts, remaining_s=1e9, may_repeat=True, number=1)
    for outcome, chance in ends:
        decided = planned(outcome, standing, policy, chance)
        counted: dict[str, Any] = {
            "attempts": standing.attempts + decided.charged,
            "lost": standing.lost + decided.lost,
            "number": standing.number + 1,
        }
        standing = replace(standing, **counted)
        assert standing.attempts <= max_attempts
        assert standing.lost <= policy.max_lost
        if decided.next != "queued":
            assert decided.next == "failed" or outcome == STORED
            return
        assert standing.attempts < max_attempts
        assert standing.lost < policy.max_lost
