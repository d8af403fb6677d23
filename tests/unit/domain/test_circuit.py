"""The circuit breaker by the words of the requirements: opens after failures in a row, lets one trial through, closes
after good ones, opens at once on a bad one.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapejobs.domain.circuit import CLOSED, Circuit, CircuitPolicy, Sign, after, after_all, sign_of
from scrapejobs.domain.outcome import (
    CODES,
    Cancelled,
    Exchange,
    Hop,
    Lost,
    Outcome,
    Permanent,
    Released,
    Stored,
    StoredResult,
    failure,
)

POLICY = CircuitPolicy(error_threshold=3, success_threshold=2, timeout_s=60.0)
START = datetime(2026, 12, 1, tzinfo=UTC)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def sign(second: float, *, good: bool, lasted_s: float = 0.0) -> Sign:
    return Sign(good, None if good else "http_503", at(second - lasted_s), at(second))


OPEN = Circuit(retry_at=at(60), reason="http_503")


@pytest.mark.req("NFR-6")
def test_it_opens_after_the_threshold_of_failures_in_a_row_and_a_good_one_between_starts_the_count_anew() -> None:
    two = after_all(CLOSED, [sign(0, good=False), sign(0, good=False)], POLICY)
    assert two == Circuit(failures=2)
    assert after(two, sign(0, good=True), POLICY) == CLOSED
    assert after(two, sign(0, good=False), POLICY) == OPEN


@pytest.mark.req("NFR-6")
def test_while_it_is_open_what_began_before_the_trial_counts_neither_way() -> None:
    for good in (True, False):
        assert after(OPEN, sign(59, good=good), POLICY) == OPEN
        assert after(OPEN, sign(100, good=good, lasted_s=41), POLICY) == OPEN


@pytest.mark.req("NFR-6")
def test_it_closes_after_the_threshold_of_good_trials_and_opens_at_once_on_a_bad_one() -> None:
    one = after(OPEN, sign(60, good=True), POLICY)
    assert (one.successes, one.retry_at) == (1, at(60))
    assert after(one, sign(61, good=True), POLICY) == CLOSED
    assert after(one, sign(61, good=False), POLICY) == Circuit(retry_at=at(121), reason="http_503")


@pytest.mark.req("NFR-6")
@given(st.lists(st.tuples(st.floats(0, 300), st.booleans(), st.floats(0, 100))))
def test_it_is_open_only_after_a_failure_and_never_longer_than_its_timeout(
    said: list[tuple[float, bool, float]],
) -> None:
    circuit = CLOSED
    for second, good, lasted_s in sorted(said):
        before, circuit = circuit, after(circuit, sign(second, good=good, lasted_s=lasted_s), POLICY)
        assert not (circuit.is_open and circuit.failures)
        assert circuit.failures < POLICY.error_threshold
        assert circuit.successes < POLICY.success_threshold
        if circuit.retry_at != before.retry_at and circuit.retry_at is not None:
            assert not good
            assert circuit.retry_at == at(second + 60)


def busy(second: float, *, began: float | None = None) -> Sign:
    return Sign(False, "http_429", at(second if began is None else began), at(second), is_busy=True)


@pytest.mark.req("NFR-6")
def test_each_busy_answer_in_a_row_leaves_the_host_alone_twice_as_long_up_to_the_timeout() -> None:
    circuit, rests = CLOSED, []
    for _ in range(9):
        began = circuit.retry_at or START
        circuit = after(circuit, busy((began - START).total_seconds()), POLICY)
        assert circuit.retry_at is not None
        rests.append((circuit.retry_at - began).total_seconds())
    assert rests == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert circuit.reason == "http_429"


@pytest.mark.req("NFR-6")
def test_good_trials_close_what_busy_answers_opened_and_the_next_one_starts_anew() -> None:
    resting = after_all(CLOSED, [busy(0), busy(0)], POLICY)
    assert resting.retry_at == at(2)
    assert after(resting, sign(1, good=True), POLICY) == resting
    closed = after_all(resting, [sign(2, good=True), sign(3, good=True)], POLICY)
    assert closed == CLOSED
    assert after(closed, busy(4), POLICY).retry_at == at(5)


@pytest.mark.req("NFR-6")
@pytest.mark.case("target-46")
@pytest.mark.parametrize("at_once", range(1, 9))
def test_a_host_that_is_busy_for_all_is_hit_at_most_eight_times_in_its_first_minute(at_once: int) -> None:
    """`at_once` jobs are under way when the first answer comes; then each trial starts the moment it may."""
    circuit = after_all(CLOSED, [busy(0.01 * (1 + number), began=0) for number in range(at_once)], POLICY)
    hits = [0.0] * at_once
    while circuit.retry_at is not None and hits[-1] < 600:
        hits.append((circuit.retry_at - START).total_seconds())
        circuit = after(circuit, busy(hits[-1] + 0.01, began=hits[-1]), POLICY)
    for first in hits:
        assert sum(first <= hit < first + 60 for hit in hits) <= 8


LEARNS = replace(POLICY, learns=True)


def limited(second: float, *, began: float | None = None) -> Sign:
    return Sign(False, "http_429", at(second if began is None else began), at(second))


@pytest.mark.req("NFR-6")
@pytest.mark.case("S21")
def test_a_host_that_asks_for_less_has_its_rate_halved_and_won_back_by_a_hundredth_with_each_good_answer() -> None:
    half = after(CLOSED, limited(10), LEARNS)
    assert (half.share, half.is_open) == (0.5, False)
    assert after(half, limited(11, began=9.9), LEARNS).share == 0.5  # asked before the cut
    assert after(half, limited(11, began=10), LEARNS).share == 0.25
    again = after_all(half, [sign(20, good=True)] * 7, LEARNS)
    assert again.share == pytest.approx(0.57)
    assert after_all(half, [sign(20, good=True)] * 51, LEARNS) == CLOSED


@pytest.mark.req("NFR-6")
def test_what_was_learned_outlives_an_open_circuit_and_never_falls_to_nothing() -> None:
    opened = after(CLOSED, busy(0), LEARNS)
    assert (opened.share, opened.is_open) == (0.5, True)
    closed = after_all(opened, [sign(60, good=True), sign(61, good=True)], LEARNS)
    assert (closed.share, closed.is_open) == (pytest.approx(0.52), False)
    assert after_all(CLOSED, [limited(n) for n in range(50)], LEARNS).share == 1 / 64


@pytest.mark.req("NFR-6")
def test_without_learning_the_set_rate_stands_and_a_rest_that_is_asked_for_says_nothing_more() -> None:
    assert after(CLOSED, limited(0), POLICY) == CLOSED
    assert after(Circuit(failures=1, share=0.5, cut_at=at(0)), limited(0), POLICY) == Circuit(failures=1)


EXCHANGE = Exchange("headers", elapsed_s=1.0)
AWAY = Exchange("headers", elapsed_s=1.0, redirects=(Hop("http://other.example/", 302),))
RESULT = StoredResult("k", 1, "s", None, None, (), "http://h/", 200, "yes")


def failed(code: str, *, elapsed_s: float = 30.0) -> Outcome:
    return failure(code, exchange=Exchange("headers", elapsed_s=elapsed_s))


@pytest.mark.req("NFR-6")
@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (Stored(RESULT, EXCHANGE), "good"),
        (Stored(RESULT, AWAY), None),
        *((failed(f"http_{status}"), "good") for status in (400, 401, 403, 404, 410, 501, 505)),
        *((failed(f"http_{status}"), "bad") for status in (500, 502, 504)),
        *((failed(f"http_{status}"), None) for status in (408, 425)),
        *((failed(f"http_{status}"), "busy") for status in (429, 503)),
        (failure("http_429", retry_after_s=0.0, exchange=EXCHANGE), "busy"),  # nonsense is None, the past is 0
        (failure("http_429", retry_after_s=5.0, exchange=EXCHANGE), "limited"),
        (failure("http_503", retry_after_s=5.0, exchange=EXCHANGE), "bad"),
        *((failed(code), "bad") for code in ("connection_refused", "connection_reset", "disconnected")),
        *((failed(code), "bad") for code in ("unreachable", "too_slow", "body_incomplete", "body_corrupt")),
        (failed("timeout", elapsed_s=10.0), "bad"),
        (failed("timeout", elapsed_s=9.9), None),
        (failure("http_503", exchange=AWAY), None),
        (Permanent("http_404", exchange=AWAY), None),
        (Lost(), None),
        (Released(), None),
        (Cancelled(), None),
    ],
    ids=str,
)
def test_only_what_speaks_about_the_host_counts(outcome: Outcome, says: str | None) -> None:
    assert sign_of(outcome) == says


@pytest.mark.req("NFR-6")
def test_a_fault_of_ours_or_of_the_job_says_nothing_about_the_host() -> None:
    ours = {"worker_error", "store_unavailable", "blocked_address", "blocked_scheme", "blocked_port", "invalid_url"}
    assert ours <= CODES.keys()
    assert {sign_of(failed(code)) for code in ours | {"dns_temporary", "dns_not_found", "tls_invalid"}} == {None}
