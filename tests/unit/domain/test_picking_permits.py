"""Attempts that a redirect sends on ask for a permit: room at the next host, before the jobs that wait there."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapejobs.domain.picking import HostLimits, Picker, TenantShare
from tests.unit.domain.test_picking_model import ENTRY, EVENT, World

INF = math.inf
HOP = st.tuples(st.just("ask"), st.tuples(st.integers(0, 50), st.sampled_from("abcd")))
PICK, PERMIT = st.tuples(st.just("pick"), st.integers(1, 4)), st.tuples(st.just("permit"), st.none())
BACKLOG = st.lists(ENTRY, min_size=4, max_size=20).map(lambda entries: [("add", entries), ("pick", 3)])
DAY = st.builds(list.__add__, BACKLOG, st.lists(st.one_of(EVENT, HOP, HOP, PICK, PERMIT), min_size=5, max_size=60))


def picker(*, most: int | None = None, cold_start_at: float = -INF, **hosts: HostLimits) -> Picker:
    return Picker(
        limits_of=lambda host: hosts.get(host, HostLimits()),
        share_of=lambda _: TenantShare(max_running=most),
        cold_start_at=cold_start_at,
    )


def add(it: Picker, host: str, *seqs: int) -> None:
    for seq in seqs:
        it.add(0.0, seq=seq, priority=1, tenant=1, host=host)


class Redirected(World):
    """A world in which attempts move on. `moved` says where those are load that did, `line` who asks where."""

    def __init__(self) -> None:
        super().__init__()
        self.moved: dict[int, str | None] = {}
        self.line: list[tuple[int, str]] = []

    def has_room(self, host: str, *, slack: float) -> bool:
        limits = self.limits[host]
        n_there = sum(self.moved.get(seq, self.entries[seq][2]) == host for seq in self.running)
        return (
            self.now >= self.closed[host] and self.tokens(host) >= 1 - slack and n_there < (limits.concurrency or INF)
        )

    def may_start(self, seq: int, *, slack: float) -> bool:
        _, tenant, host = self.entries[seq]
        n_running = sum(self.entries[other][1] == tenant for other in self.running)
        is_before_jobs = host in {asked for _, asked in self.line}
        return (
            self.has_room(host, slack=slack)
            and not is_before_jobs
            and n_running < (self.shares[tenant].max_running or INF)
        )

    def ask(self, what: tuple[int, str]) -> None:
        index, host = what
        if self.running:
            seq = self.running[index % len(self.running)]
            if seq in self.unclaimed:  # who asks has been claimed before
                if self.claims.pop(seq, None) is None:
                    self.start(seq)
                    del self.claims[seq]
                self.spend(seq, self.unclaimed[seq], self.now)
            self.line = [other for other in self.line if other[0] != seq] + [(seq, host)]
            self.moved[seq] = None
            self.picker.ask(self.now, seq=seq, host=host)

    def permit(self, _: object = None) -> None:
        for seq in self.picker.permit(self.now):
            host = dict(self.line)[seq]
            assert self.has_room(host, slack=1e-6), "a permit beyond the limits"
            assert next(other for other, at in self.line if at == host) == seq, "not first come, first served"
            self.line.remove((seq, host))
            self.moved[seq] = host
            self.spent[host].append(self.now)
            self.picker.claimed(self.now, seq, at=self.now)
        left = [host for _, host in self.line if self.has_room(host, slack=-1e-4)]
        assert not left, "room was left unused while an attempt asks for it"
        assert set(self.picker.asking) == {seq for seq, _ in self.line}
        assert self.picker.next_permit(self.now) > self.now, "a timer that rings at once, for nothing"

    def end(self, how: str, index: int) -> None:
        seq = self.running[index % len(self.running)] if self.running else 0
        if seq not in self.moved:
            super().end(how, index)
            return
        self.running.remove(seq)
        self.moved.pop(seq)
        self.line = [other for other in self.line if other[0] != seq]
        if how == "finish":
            self.picker.finish(self.now, seq)
            return
        self.picker.give_back(self.now, seq)


@pytest.mark.req("NFR-6")
@settings(max_examples=100, deadline=None)
@given(day=DAY)
def test_no_permit_and_no_job_exceeds_a_hosts_limits_and_no_room_is_left_unused(day: list[tuple[str, object]]):
    world = Redirected()
    world.live(day)
    world.permit()
    world.pick(20)


@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-10")
@settings(max_examples=60, deadline=None)
@given(day=DAY)
def test_when_all_have_ended_nothing_is_stuck_and_everything_is_forgotten(day: list[tuple[str, object]]):
    world = Redirected()
    world.live(day)
    world.drain()
    assert sorted(world.picked) == sorted(world.entries)
    world.wait(100.0)
    world.pick(1)
    roster = world.picker._roster
    assert (roster.hosts, roster.tenants, roster.lanes) == ({}, {}, {})
    assert (set(world.picker.asking), set(world.picker.outstanding)) == (set(), set())
    assert (world.picker.next_permit(world.now), world.picker.next_timer()) == (INF, INF)


@pytest.mark.req("NFR-6")
def test_an_attempt_that_asks_for_another_host_has_left_its_own():
    it = picker(a=HostLimits(concurrency=1), b=HostLimits(concurrency=1))
    add(it, "a", 1, 2)
    assert it.pick(0.0, 9) == [1]
    it.ask(0.0, seq=1, host="b")
    assert it.pick(0.0, 9) == [2]
    assert it.permit(0.0) == [1]


@pytest.mark.req("NFR-6")
def test_attempts_that_change_places_do_not_wait_for_each_other():
    it = picker(a=HostLimits(concurrency=1), b=HostLimits(concurrency=1))
    add(it, "a", 1)
    add(it, "b", 2)
    assert sorted(it.pick(0.0, 9)) == [1, 2]
    it.ask(0.0, seq=1, host="b")
    it.ask(0.0, seq=2, host="a")
    assert sorted(it.permit(0.0)) == [1, 2]


@pytest.mark.req("NFR-6")
def test_permits_are_given_before_jobs_that_waited_longer_and_promises_do_not_stand_in_the_way():
    it = picker(b=HostLimits(concurrency=1))
    add(it, "b", 1, 2, 3)
    add(it, "a", 4)
    assert sorted(it.pick(0.0, 9)) == [1, 4]
    it.finish(0.0, 1)  # the slot is promised to the jobs that wait
    it.ask(0.0, seq=4, host="b")
    assert it.pick(0.0, 9) == []
    assert it.permit(0.0) == [4]
    assert it.pick(0.0, 9) == []
    it.finish(0.0, 4)
    assert it.pick(0.0, 9) == [2]


@pytest.mark.req("NFR-6")
def test_a_further_request_to_the_same_host_spends_a_token_of_it():
    it = picker(b=HostLimits(rate=5.0, burst=2.0, concurrency=1))
    add(it, "b", 1, 2)
    assert it.pick(0.0, 9) == [1]
    it.ask(0.0, seq=1, host="b")
    assert it.permit(0.0) == [1]
    it.claimed(0.0, 1, at=0.0)
    it.ask(0.0, seq=1, host="b")
    assert it.permit(0.0) == []
    assert it.next_permit(0.0) == pytest.approx(0.2, abs=1e-3)
    assert it.pick(0.3, 9) == []  # the token that is there by now is for who asks
    assert it.permit(0.3) == [1]


@pytest.mark.req("NFR-6")
def test_a_closed_host_gives_no_permits_until_it_opens():
    it = picker()
    add(it, "a", 1)
    it.pick(0.0, 9)
    it.close_host(0.0, "b", 60.0)
    it.ask(0.0, seq=1, host="b")
    assert it.permit(59.0) == []
    assert it.next_permit(59.0) == 60.0
    it.close_host(59.0, "b", 0.0)
    assert it.permit(59.0) == [1]


@pytest.mark.req("NFR-6")
def test_who_gives_up_asking_makes_way_for_the_next():
    it = picker(b=HostLimits(concurrency=1))
    add(it, "b", 1, 4)
    add(it, "a", 2, 3)
    assert sorted(it.pick(0.0, 9)) == [1, 2, 3]
    it.ask(0.0, seq=2, host="b")
    it.ask(0.0, seq=3, host="b")
    it.finish(0.0, 2)
    it.finish(0.0, 1)
    assert it.permit(0.0) == [3]
    it.finish(0.0, 3)
    assert it.pick(0.0, 9) == [4]


@pytest.mark.req("NFR-6")
def test_jobs_start_again_when_the_last_who_asked_has_gone_without_a_permit():
    it = picker(b=HostLimits(concurrency=1))
    add(it, "a", 1)
    assert it.pick(0.0, 9) == [1]
    it.close_host(0.0, "b", 5.0)
    it.ask(0.0, seq=1, host="b")
    add(it, "b", 2)
    assert it.pick(6.0, 9) == []
    it.finish(6.0, 1)
    assert it.pick(6.0, 9) == [2]


@pytest.mark.req("NFR-5")
def test_an_attempt_that_waits_for_a_permit_still_counts_against_its_tenants_maximum():
    it = picker(most=1, b=HostLimits(concurrency=1))
    add(it, "a", 1, 2)
    assert it.pick(0.0, 9) == [1]
    it.ask(0.0, seq=1, host="b")
    assert it.pick(0.0, 9) == []
    assert it.permit(0.0) == [1]
    it.finish(0.0, 1)
    assert it.pick(0.0, 9) == [2]
