"""The arithmetic of a host's limits. Expected values are worked out by hand from rate, burst and time."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapejobs.domain.politeness import Gate, HostLimits, TokenBucket

INF = math.inf
STEPS = st.lists(st.tuples(st.floats(0, 3), st.integers(0, 5)), min_size=1, max_size=40)


def start(gate: Gate, now: float) -> None:
    """A job is handed out and claimed in one moment."""
    gate.start()
    gate.claimed(now)


@pytest.mark.req("NFR-6")
@settings(max_examples=60, deadline=None)
@given(rate=st.floats(0.1, 50), burst=st.floats(1, 9), steps=STEPS)
def test_no_stretch_of_time_sees_more_than_burst_plus_rate_times_its_length(
    rate: float, burst: float, steps: list[tuple[float, int]]
):
    gate = Gate(HostLimits(rate=rate, burst=burst))
    now, starts = 0.0, []
    for wait, wanted in steps:
        now += wait
        for _ in range(min(wanted, int(gate.room(now)))):
            start(gate, now)
            starts.append(now)
    for first, since in enumerate(starts):
        for last in range(first, len(starts)):
            assert last - first + 1 <= burst + rate * (starts[last] - since) + 1e-6


@pytest.mark.req("NFR-6")
@settings(max_examples=60, deadline=None)
@given(
    rate=st.floats(0.1, 5),
    burst=st.floats(1, 3),
    steps=st.lists(st.tuples(st.sampled_from([0.0, 0.1, 1.0]), st.booleans()), max_size=60),
)
def test_nor_does_any_when_jobs_are_claimed_long_after_they_were_handed_out(
    rate: float, burst: float, steps: list[tuple[float, bool]]
):
    gate = Gate(HostLimits(rate=rate, burst=burst))
    now, starts = 0.0, []
    for wait, claims in steps:
        now += wait
        if claims and gate.unclaimed:
            gate.claimed(now)
            starts.append(now)
        while not claims and gate.room(now) >= 1 and gate.unclaimed < 9:
            gate.start()
    for first, since in enumerate(starts):
        for last in range(first, len(starts)):
            assert last - first + 1 <= burst + rate * (starts[last] - since) + 1e-6


@pytest.mark.req("NFR-6")
@settings(max_examples=200, deadline=None)
@given(
    rate=st.floats(0.1, 50),
    burst=st.integers(1, 5),
    most_s=st.floats(0, 0.5),
    steps=st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 1)), min_size=2, max_size=40),
)
def test_nor_does_the_host_however_long_each_request_is_on_its_way(
    rate: float, burst: int, most_s: float, steps: list[tuple[float, float]]
):
    """Each request reaches its host within `most_s` of its claim, and its token is spent as of then."""
    gate, now, hits = Gate(HostLimits(rate=rate, burst=float(burst))), 0.0, list[float]()
    for wait_s, part in steps:
        now += wait_s
        if gate.room(now) >= 1:
            gate.start()
            gate.claimed(now + most_s)
            hits.append(now + part * most_s)
    hits.sort()
    for first, since in enumerate(hits):
        for last in range(first, len(hits)):
            assert last - first + 1 <= burst + rate * (hits[last] - since) + 1e-6


@pytest.mark.req("NFR-6")
def test_bucket_fills_with_its_rate_up_to_its_burst():
    bucket = TokenBucket(rate=2.0, burst=3.0, empty_at=10.0)
    assert [bucket.level(now) for now in (10.0, 10.5, 11.25, 99.0)] == [0.0, 1.0, 2.5, 3.0]


@pytest.mark.req("NFR-6")
def test_bucket_that_has_been_filling_since_ever_is_full():
    assert TokenBucket(rate=0.001, burst=5.0, empty_at=-INF).level(0.0) == 5.0


@pytest.mark.req("NFR-6")
def test_a_token_spent_in_the_past_has_been_missing_since_then():
    bucket = TokenBucket(rate=1.0, burst=2.0, empty_at=-INF)
    bucket.spend(10.0)
    assert [bucket.level(now) for now in (10.0, 10.5, 11.0)] == [1.0, 1.5, 2.0]
    bucket.spend(10.0)
    assert [bucket.level(now) for now in (10.0, 11.0, 12.0)] == [0.0, 1.0, 2.0]


@pytest.mark.req("NFR-6")
def test_a_token_set_aside_is_in_nobodys_way_when_it_comes_back_and_does_not_fill_again_meanwhile():
    gate = Gate(HostLimits(rate=1.0, burst=2.0))
    gate.start()
    assert (gate.room(0.0), gate.room(99.0)) == (1, 1)
    gate.running, gate.unclaimed = 0, 0
    assert gate.room(99.0) == 2


@pytest.mark.req("NFR-6")
@settings(max_examples=60, deadline=None)
@given(rate=st.floats(0.01, 2000), born=st.floats(0, 1e8), n=st.integers(1, 5))
def test_at_the_time_a_gate_names_it_has_the_room_it_named(rate: float, born: float, n: int):
    gate = Gate(HostLimits(rate=rate, burst=5.0), empty_at=born)
    at = gate.room_at(born, n)
    assert gate.room(born) == 0
    assert gate.room(at) >= n
    assert at == pytest.approx(born + n / rate, rel=1e-6, abs=1e-5)


@pytest.mark.req("NFR-6")
def test_gate_has_the_smaller_of_free_slots_and_whole_tokens():
    gate = Gate(HostLimits(rate=1.0, burst=4.0, concurrency=3))
    assert gate.room(0.0) == 3
    start(gate, 0.0)
    start(gate, 0.0)
    assert gate.room(0.0) == 1
    gate.running = 0
    assert gate.room(0.0) == 2
    assert gate.room(1.5) == 3


@pytest.mark.req("NFR-6")
def test_time_alone_brings_no_slot_and_no_more_than_a_burst():
    gate = Gate(HostLimits(rate=1.0, burst=2.0, concurrency=3), empty_at=0.0)
    assert gate.room_at(0.0, 3) == INF
    gate.running = 3
    assert gate.room_at(0.0, 1) == INF


@pytest.mark.req("NFR-6")
@pytest.mark.req("FR-11")
def test_closed_gate_has_no_room_until_it_opens_by_itself_or_by_hand():
    gate = Gate(HostLimits())
    assert gate.room(0.0) == INF
    gate.closed_until = 5.0
    assert (gate.room(4.99), gate.room_at(1.0, 1), gate.room(5.0)) == (0, 5.0, INF)
    gate.closed_until = INF
    assert (gate.room(1e12), gate.room_at(0.0, 1)) == (0, INF)
    gate.closed_until = 0.0
    assert gate.room(1.0) == INF


@pytest.mark.req("FR-11")
def test_changed_limits_keep_the_level_as_far_as_the_new_burst_holds_it():
    gate = Gate(HostLimits(rate=1.0, burst=8.0), empty_at=0.0)
    gate.change(6.0, HostLimits(rate=2.0, burst=10.0))
    assert gate.bucket is not None
    assert gate.bucket.level(6.0) == 6.0
    assert gate.bucket.level(7.0) == 8.0
    gate.change(7.0, HostLimits(rate=2.0, burst=3.0))
    assert gate.bucket.level(7.0) == 3.0


@pytest.mark.req("FR-11")
def test_first_rate_of_a_host_starts_with_an_empty_bucket():
    gate = Gate(HostLimits())
    gate.change(100.0, HostLimits(rate=2.0, burst=5.0))
    assert [gate.room(now) for now in (100.0, 100.5, 101.0)] == [0, 1, 2]


@pytest.mark.req("FR-11")
def test_lifted_limits_leave_a_gate_without_any():
    gate = Gate(HostLimits(rate=1.0, concurrency=1), empty_at=0.0)
    gate.change(0.0, HostLimits())
    assert gate.room(0.0) == INF


@pytest.mark.req("FR-11")
def test_lowered_concurrency_leaves_no_room_until_enough_jobs_have_ended():
    gate = Gate(HostLimits(concurrency=5))
    gate.running = 4
    gate.change(0.0, HostLimits(concurrency=2))
    assert gate.room(0.0) <= 0
    gate.running = 1
    assert gate.room(0.0) == 1


@pytest.mark.req("NFR-6")
def test_gate_is_like_new_when_it_is_open_and_its_bucket_full():
    assert Gate(HostLimits()).untouched_at(3.0) == 3.0
    gate = Gate(HostLimits(rate=2.0, burst=4.0))
    assert gate.untouched_at(3.0) == 3.0
    start(gate, 3.0)
    start(gate, 3.0)
    assert gate.untouched_at(3.0) == pytest.approx(4.0, abs=1e-5)
    gate.closed_until = 9.0
    assert gate.untouched_at(3.0) == 9.0


@pytest.mark.req("FR-11")
@pytest.mark.parametrize(
    "wrong",
    [{"rate": 0.0}, {"rate": -1.0}, {"rate": math.nan}, {"burst": 0.5}, {"burst": math.nan}, {"concurrency": 0}],
)
def test_limits_that_would_close_a_host_for_ever_are_refused(wrong: dict[str, float]):
    with pytest.raises(ValueError, match="must be"):
        HostLimits(**wrong)
