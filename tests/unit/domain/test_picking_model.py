"""Random days through the picker and through models that recompute everything by brute force."""

import math
from collections import defaultdict
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapejobs.domain.picking import WEIGHTS, HostLimits, Picker, TenantShare

INF = math.inf
SHARES = {0: TenantShare(), 1: TenantShare(weight=2.0), 2: TenantShare(max_running=1), 3: TenantShare(0.5, 2)}
LIMITS = {
    "a": HostLimits(),
    "b": HostLimits(concurrency=1),
    "c": HostLimits(rate=3.0, burst=2.0),
    "d": HostLimits(rate=5.0, burst=1.0, concurrency=2),
}
ENTRY = st.tuples(st.integers(0, 2), st.integers(0, 3), st.sampled_from("abcd"))
EVENT = st.one_of(
    st.tuples(st.just("add"), st.lists(ENTRY, min_size=1, max_size=6)),
    st.tuples(st.just("pick"), st.integers(1, 8)),
    st.tuples(st.sampled_from(["finish", "give_back", "retry"]), st.integers(0, 50)),
    st.tuples(st.just("gone"), st.sets(st.integers(1, 60), max_size=20)),
    st.tuples(st.just("wait"), st.floats(0.001, 1.0)),
    st.tuples(st.just("claim"), st.integers(0, 50)),
    st.tuples(st.just("look"), st.none()),
    st.tuples(st.just("close"), st.tuples(st.sampled_from("abcd"), st.floats(0, 1.0))),
    st.tuples(st.just("limit"), st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"))),
    st.tuples(st.just("share"), st.tuples(st.integers(0, 3), st.integers(0, 3))),
)
DAY = st.lists(EVENT, min_size=5, max_size=60)


class Order:
    """The order of turns on hosts without limits, from the whole backlog at every pick."""

    def __init__(self) -> None:
        self.backlog: list[tuple[int, int, str, int]] = []
        self.passes, self.last_pass = [0.0] * 3, 0.0
        self.clock = [0.0] * 3
        self.tags: dict[tuple[int, int], float] = defaultdict(float)
        self.stamps: dict[tuple[object, ...], int] = {}
        self.n = 0

    def stamp(self, *key: object) -> None:
        self.n += 1
        self.stamps[key] = self.n

    def add(self, queue: int, tenant: int, host: str, seq: int) -> None:
        here = [entry for entry in self.backlog if entry[0] == queue]
        if not here:
            self.passes[queue] = max(self.passes[queue], self.last_pass)
        if not any(entry[1] == tenant for entry in here):
            self.tags[queue, tenant] = max(self.tags[queue, tenant], self.clock[queue])
            self.stamp(queue, tenant)
        if not any(entry[1:3] == (tenant, host) for entry in here):
            self.stamp(queue, tenant, host)
        self.backlog.append((queue, tenant, host, seq))

    def pick(self) -> int | None:
        if not self.backlog:
            return None
        queue = min({entry[0] for entry in self.backlog}, key=lambda q: (self.passes[q], q))
        tenants = {entry[1] for entry in self.backlog if entry[0] == queue}
        tenant = min(tenants, key=lambda t: (self.tags[queue, t], self.stamps[queue, t]))
        hosts = {entry[2] for entry in self.backlog if entry[:2] == (queue, tenant)}
        host = min(hosts, key=lambda h: self.stamps[queue, tenant, h])
        entry = next(entry for entry in self.backlog if entry[:3] == (queue, tenant, host))
        self.backlog.remove(entry)
        self.last_pass = self.passes[queue]
        self.passes[queue] += 1 / WEIGHTS[queue]
        self.clock[queue] = self.tags[queue, tenant]
        self.tags[queue, tenant] += 1 / SHARES[tenant].weight
        self.stamp(queue, tenant)
        self.stamp(queue, tenant, host)
        if not any(other[0] == queue for other in self.backlog):
            for key in [key for key in self.tags if key[0] == queue]:
                del self.tags[key]
        return entry[3]


class World:
    """A picker, and next to it what it may do, kept as plain lists of what has happened.

    Workers claim when they like, which is when a host sees a start, and the picker hears of it at its next look.
    """

    def __init__(self) -> None:
        self.now, self.n = 0.0, 0
        self.limits, self.shares = dict(LIMITS), dict(SHARES)
        self.picker = Picker(limits_of=self.limits.__getitem__, share_of=self.shares.__getitem__)
        self.entries: dict[int, tuple[int, int, str]] = {}
        self.queued: set[int] = set()
        self.running: list[int] = []
        self.closed = dict.fromkeys(LIMITS, 0.0)
        self.claims: dict[int, float] = {}  # when entries were claimed, as long as the picker has not heard of it
        self.unclaimed: dict[int, str] = {}  # entries whose token is set aside, as far as the picker knows, and where
        self.spent: dict[str, list[float]] = {host: [] for host in LIMITS}  # as far as the picker knows
        self.starts: dict[str, list[float]] = {host: [] for host in LIMITS}
        self.picked: list[int] = []

    def may_start(self, seq: int, *, slack: float) -> bool:
        """`slack`: how much of a token may be missing (above 0) or must be there besides (below 0)."""
        _, tenant, host = self.entries[seq]
        limits, most = self.limits[host], self.shares[tenant].max_running
        return (
            self.now >= self.closed[host]
            and self.tokens(host) >= 1 - slack
            and sum(self.entries[other][2] == host for other in self.running) < (limits.concurrency or INF)
            and sum(self.entries[other][1] == tenant for other in self.running) < (most or INF)
        )

    def tokens(self, host: str) -> float:
        """What is left of the spent ones, by going through all that were ever spent; less what is set aside."""
        limits = self.limits[host]
        if limits.rate is None:
            return INF
        level, since = limits.burst, 0.0
        for at in self.spent[host]:
            level, since = min(limits.burst, level + (at - since) * limits.rate) - 1, at
        level = min(limits.burst, level + (self.now - since) * limits.rate)
        return level - sum(where == host for where in self.unclaimed.values())

    def spend(self, seq: int, host: str, at: float) -> None:
        if self.unclaimed.pop(seq, None) is not None:
            self.spent[host].append(at)

    def claim(self, index: int) -> None:
        """A worker claims one of the entries that are ready: the host sees a start."""
        ready = [seq for seq in self.unclaimed if seq not in self.claims]
        if ready:
            self.start(ready[index % len(ready)])

    def start(self, seq: int) -> None:
        self.claims[seq] = self.now
        host = self.unclaimed[seq]
        self.starts[host].append(self.now)
        limits, starts = self.limits[host], self.starts[host]
        for n, since in enumerate(reversed(starts), start=1):
            assert limits.rate is None or n <= limits.burst + limits.rate * (self.now - since) + 1e-4

    def look(self, _: object = None) -> None:
        """The picker hears what was claimed."""
        for seq, at in sorted(self.claims.items(), key=lambda claim: claim[1]):
            self.picker.claimed(self.now, seq, at=at)
            self.spend(seq, self.unclaimed[seq], at)
        self.claims.clear()

    def add(self, entries: Iterable[tuple[int, int, str]]) -> None:
        for priority, tenant, host in entries:
            self.n += 1
            self.entries[self.n] = (priority, tenant, host)
            self.queued.add(self.n)
            self.picker.add(self.now, seq=self.n, priority=priority, tenant=tenant, host=host)

    def pick(self, n: int) -> None:
        picked = self.picker.pick(self.now, n)
        for seq in picked:
            assert self.may_start(seq, slack=1e-6), "an entry that may not start was picked"
            self.queued.remove(seq)
            self.running.append(seq)
            self.unclaimed[seq] = self.entries[seq][2]
        assert len(picked) <= n
        if len(picked) < n:
            left = [seq for seq in self.queued if self.may_start(seq, slack=-1e-4)]
            assert not left, "an entry that may start was left behind"
        self.picked += picked

    def gone(self, seqs: set[int]) -> None:
        """Those of them that are queued were cancelled. Which lane holds which entry is what the picker says."""
        lanes = dict(self.picker.entries())
        assert lanes == {seq: self.entries[seq] for seq in self.queued}
        for key in set(lanes.values()):
            self.picker.forget(self.now, key, seqs)
        self.queued -= seqs
        for seq in seqs & set(lanes):
            del self.entries[seq]

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def end(self, how: str, index: int) -> None:
        if not self.running:
            return
        seq = self.running.pop(index % len(self.running))
        was_claimed = self.claims.pop(seq, None) is not None or seq not in self.unclaimed
        if how == "finish" or was_claimed:
            if seq in self.unclaimed:
                self.spend(seq, self.unclaimed[seq], self.now)
            self.picker.finish(self.now, seq)
            return
        del self.unclaimed[seq]
        self.picker.give_back(self.now, seq)
        if how == "retry":
            self.add([self.entries[seq]])

    def close(self, host: str, seconds: float) -> None:
        self.closed[host] = self.now + seconds
        self.picker.close_host(self.now, host, self.closed[host])

    def share(self, tenant: int, like: int) -> None:
        self.shares[tenant] = SHARES[like]
        self.picker.set_share(self.now, tenant, SHARES[like])

    def limit(self, host: str, like: str) -> None:
        """Only the number of slots: what the bucket keeps is held in test_politeness."""
        old = self.limits[host]
        self.limits[host] = HostLimits(old.rate, old.burst, LIMITS[like].concurrency)
        self.picker.set_host_limits(self.now, host, self.limits[host])

    def live(self, day: list[tuple[str, object]]) -> None:
        for kind, what in day:
            if kind in ("finish", "give_back", "retry"):
                self.end(kind, what)  # type: ignore[arg-type]
            elif kind in ("close", "limit", "share"):
                getattr(self, kind)(*what)  # type: ignore[misc]
            else:
                getattr(self, kind)(what)
            assert self.picker.queued == len(self.queued)
            assert set(self.picker.outstanding) == set(self.running)

    def drain(self) -> None:
        for _ in range(400):
            if not self.queued and not self.running:
                return
            self.wait(0.5)
            self.pick(20)
            while len(self.claims) < len(self.unclaimed):
                self.claim(0)
            self.look()
            while self.running:
                self.end("finish", 0)
        pytest.fail(f"{len(self.queued)} entries are stuck")


@pytest.mark.req("NFR-5")
@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.one_of(ENTRY, st.integers(1, 5)), max_size=80))
def test_picker_and_model_pick_the_same_entries_in_the_same_order(steps: list[tuple[int, int, str] | int]):
    model, seq = Order(), 0
    picker = Picker(limits_of=lambda _: HostLimits(), share_of=lambda tenant: TenantShare(SHARES[tenant].weight))
    for step in [*steps, 99]:
        if isinstance(step, int):
            expected = [picked for picked in (model.pick() for _ in range(step)) if picked is not None]
            assert picker.pick(0.0, step) == expected
        else:
            seq += 1
            queue, tenant, host = step
            model.add(queue, tenant, host, seq)
            picker.add(0.0, seq=seq, priority=queue, tenant=tenant, host=host)


@pytest.mark.req("NFR-5")
@pytest.mark.req("NFR-6")
@settings(max_examples=60, deadline=None)
@given(day=DAY)
def test_every_pick_is_allowed_and_nothing_that_may_start_is_left_behind(day: list[tuple[str, object]]):
    World().live(day)


@pytest.mark.req("NFR-6")
@settings(max_examples=100, deadline=None)
@given(
    day=st.lists(
        st.one_of(
            st.tuples(st.just("wait"), st.floats(0.001, 1.0)),
            st.tuples(st.just("pick"), st.integers(1, 8)),
            st.tuples(st.just("claim"), st.integers(0, 50)),
            st.tuples(st.just("look"), st.none()),
        ),
        max_size=60,
    )
)
def test_however_late_jobs_are_claimed_no_stretch_of_time_sees_more_starts_than_its_host_bears(
    day: list[tuple[str, object]],
):
    world = World()
    world.add([(1, 0, "c"), (1, 0, "d")] * 60)
    world.live(day)


@pytest.mark.req("NFR-3")
@settings(max_examples=40, deadline=None)
@given(day=DAY)
def test_every_entry_is_picked_once_and_none_is_stuck(day: list[tuple[str, object]]):
    world = World()
    world.live(day)
    world.drain()
    assert sorted(world.picked) == sorted(world.entries)


@pytest.mark.req("NFR-10")
@settings(max_examples=40, deadline=None)
@given(day=DAY)
def test_what_is_idle_is_forgotten(day: list[tuple[str, object]]):
    world = World()
    world.live(day)
    world.drain()
    world.wait(100.0)
    world.pick(1)
    roster = world.picker._roster
    assert (roster.hosts, roster.tenants, roster.lanes) == ({}, {}, {})
    assert not any(queue.heap or queue.resting for queue in world.picker._queues)
    assert world.picker.next_timer() == INF
