"""The rules of picking, on virtual time. docs/picking.md names each rule with its test here."""

import heapq
import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest

from scrapejobs.domain.job import PRIORITIES
from scrapejobs.domain.picking import WEIGHTS, HostLimits, Picker, TenantShare

HIGH, NORMAL, LOW = range(3)
UNLIMITED, EVEN = HostLimits(), TenantShare()
INF = math.inf


class Pool:
    """Workers with `slots`, a job's time drawn from `lasts`; every start and end is written down."""

    def __init__(
        self,
        slots: int,
        *,
        lasts: Callable[[], float] = lambda: 0.2,
        limits: HostLimits = UNLIMITED,
        shares: dict[int, TenantShare] | None = None,
        **kw: float,
    ) -> None:
        self.shares = shares or {}
        self.picker = Picker(limits_of=lambda _: limits, share_of=lambda tenant: self.shares.get(tenant, EVEN), **kw)
        self.now, self.free, self.lasts = 0.0, slots, lasts
        self.jobs: dict[int, tuple[int, int, str]] = {}
        self.starts: list[tuple[float, int]] = []
        self.ends: list[tuple[float, int]] = []
        self._running: list[tuple[float, int]] = []

    def add(self, priority: int, tenant: int, host: str | int, n: int = 1):
        for _ in range(n):
            seq = len(self.jobs)
            self.jobs[seq] = (priority, tenant, str(host))
            self.picker.add(self.now, seq=seq, priority=priority, tenant=tenant, host=str(host))

    def run(self, seconds: float, *, tick: float = 0.02, watch: Callable[[], None] = lambda: None):
        for _ in range(round(seconds / tick)):
            while self._running and self._running[0][0] <= self.now:
                _, seq = heapq.heappop(self._running)
                self.picker.finish(self.now, seq)
                self.ends.append((self.now, seq))
                self.free += 1
            for seq in self.picker.pick(self.now, self.free):
                self.free -= 1
                self.picker.claimed(self.now, seq, at=self.now)
                self.starts.append((self.now, seq))
                heapq.heappush(self._running, (self.now + self.lasts(), seq))
            watch()
            self.now += tick

    def count(self, what: int, *, since: float = 0.0):
        return Counter(self.jobs[seq][what] for at, seq in self.starts if at >= since)

    def shares_of_queues(self, *, since: float = 0.0):
        by = self.count(0, since=since)
        return [by[queue] / by.total() for queue in range(3)]


def jain(shares: list[float]):
    """Jain's index: 1 when all are equal, 1/n when one has all."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def uneven(seed: int = 1):
    draw = random.Random(seed)
    return lambda: draw.uniform(0.05, 0.4)


def picker(*, limits: dict[str, HostLimits] | None = None, shares: dict[int, TenantShare] | None = None, **kw: float):
    limits, shares = limits or {}, shares or {}
    return Picker(
        limits_of=lambda host: limits.get(host, UNLIMITED),
        share_of=lambda tenant: shares.get(tenant, EVEN),
        **kw,
    )


def fill(pick: Picker, entries: list[tuple[int, int, str]], *, now: float = 0.0, first: int = 0):
    for seq, (priority, tenant, host) in enumerate(entries, start=first):
        pick.add(now, seq=seq, priority=priority, tenant=tenant, host=host)


# ---- queues: six, three and one of ten


def busy_queues(*queues: int):
    pool = Pool(50, lasts=uneven())
    for queue in queues:
        for tenant in range(20):
            pool.add(queue, tenant, tenant * 3 + queue, 110)
    return pool


@pytest.mark.req("NFR-5")
@pytest.mark.case("S13")
def test_of_ten_jobs_six_are_high_three_normal_one_low():
    assert (PRIORITIES, WEIGHTS) == (("high", "normal", "low"), (6, 3, 1))
    pool = busy_queues(HIGH, NORMAL, LOW)
    pool.run(10)
    assert pool.shares_of_queues() == pytest.approx([0.6, 0.3, 0.1], abs=0.005)


@pytest.mark.req("NFR-5")
@pytest.mark.case("S13")
@pytest.mark.parametrize(
    ("queues", "shares"),
    [((NORMAL, LOW), [0, 0.75, 0.25]), ((HIGH, LOW), [6 / 7, 0, 1 / 7]), ((LOW,), [0, 0, 1])],
)
def test_empty_queue_gives_its_share_to_the_others(queues: tuple[int, ...], shares: list[float]):
    pool = busy_queues(*queues)
    pool.run(6)
    assert pool.shares_of_queues() == pytest.approx(shares, abs=0.005)


@pytest.mark.req("NFR-5")
def test_queue_whose_hosts_are_all_closed_gives_its_share_to_the_others():
    pool = busy_queues(NORMAL, LOW)
    for host in range(1000, 1020):
        pool.picker.close_host(0.0, str(host), INF)
        pool.add(HIGH, host - 1000, host, 20)
    pool.run(8)
    assert pool.shares_of_queues() == pytest.approx([0, 0.75, 0.25], abs=0.005)


@pytest.mark.req("NFR-5")
def test_queue_that_was_empty_takes_no_more_than_its_share_when_it_is_back():
    pool = busy_queues(NORMAL, LOW)
    pool.run(5)
    for tenant in range(20):
        pool.add(HIGH, tenant, tenant * 3, 110)
    back = pool.now
    pool.run(4)
    assert pool.shares_of_queues(since=back) == pytest.approx([0.6, 0.3, 0.1], abs=0.01)


@pytest.mark.req("NFR-5")
@pytest.mark.case("S13")
def test_low_starts_within_ten_picks_however_much_is_above_it():
    pick = picker()
    fill(pick, [(HIGH, tenant, "a") for tenant in range(300)] + [(NORMAL, 1, "b")] * 300 + [(LOW, 1, "c")])
    assert 600 in pick.pick(0.0, 10)


# ---- tenants: by weight, no credit for silence


@pytest.mark.req("NFR-5")
@pytest.mark.req("FR-12")
def test_tenants_share_a_queue_by_weight():
    pool = Pool(50, lasts=uneven(), shares={tenant: TenantShare(weight=2.0) for tenant in range(10)})
    for tenant in range(30):
        for host in range(3):
            pool.add(NORMAL, tenant, tenant * 10 + host, 50 + 7 * (tenant % 7))
    pool.run(12)
    by = pool.count(1)
    weighed = [by[tenant] / (2 if tenant < 10 else 1) for tenant in range(30)]
    assert jain(weighed) >= 0.999
    assert sum(weighed[:10]) / 10 == pytest.approx(sum(weighed[10:]) / 20, rel=0.02)


@pytest.mark.req("NFR-5")
@pytest.mark.case("S13")
def test_one_job_of_a_small_tenant_starts_within_one_round_of_a_burst():
    pool = Pool(10)
    pool.add(NORMAL, 1, "a", 1000)
    pool.run(2)
    pool.add(NORMAL, 2, "b", 10)
    pool.add(HIGH, 3, "c")
    before = len(pool.starts)
    pool.run(2)
    tenants = [pool.jobs[seq][1] for _, seq in pool.starts[before:]]
    assert tenants.index(3) <= 1
    assert tenants.index(2) <= 2
    assert tenants[tenants.index(2) : 20].count(2) in (9, 10)  # A and B take turns from then on


@pytest.mark.req("NFR-5")
@pytest.mark.case("S13")
def test_one_job_starts_next_but_one_beside_four_hundred_thousand_of_another_tenant():
    pick = picker(window=64)
    pick.refill(0.0, priority=NORMAL, tenant=1, host="a", seqs=range(1, 65), has_more=True)
    for seq in range(65, 400_001):
        pick.add(0.0, seq=seq, priority=NORMAL, tenant=1, host="a")
    assert pick.queued == 64  # the rest is behind the window
    assert pick.pick(0.0, 20) == list(range(1, 21))
    pick.add(0.0, seq=400_001, priority=NORMAL, tenant=2, host="a")
    assert 400_001 in pick.pick(0.0, 2)  # one round of two tenants


@pytest.mark.req("NFR-5")
@pytest.mark.case("S13")
def test_over_two_hundred_starts_shares_are_within_a_tenth_of_the_weights():
    pick = picker(shares={1: TenantShare(weight=3.0)})
    fill(pick, [(NORMAL, 1, "a"), (NORMAL, 2, "b")] * 400)
    starts = Counter(seq % 2 for seq in pick.pick(0.0, 200))
    assert starts[0] == pytest.approx(150, rel=0.1)


@pytest.mark.req("NFR-5")
def test_silence_earns_no_credit():
    pool = Pool(10, lasts=lambda: 0.1)
    pool.add(NORMAL, 1, "a", 2500)
    pool.run(10)
    pool.add(NORMAL, 2, "b", 1500)
    back = pool.now
    pool.run(10)
    by = pool.count(1, since=back)
    assert abs(by[1] - by[2]) <= 2


@pytest.mark.req("NFR-5")
@pytest.mark.parametrize("limits", [UNLIMITED, HostLimits(concurrency=2)])
def test_handing_in_one_job_at_a_time_gains_nothing_over_a_backlog(limits: HostLimits):
    pick = picker(limits={"a": limits})
    fill(pick, [(NORMAL, 1, "a")] * 100 + [(NORMAL, 2, "a")] * 100)
    pick.add(0.0, seq=1000, priority=NORMAL, tenant=3, host="a")
    served: Counter[int] = Counter()
    running: list[int] = []
    while served.total() < 150:
        for seq in pick.pick(0.0, 2 - len(running)):
            running.append(seq)
            served[min(seq // 100, 2)] += 1
            if seq >= 1000:
                pick.add(0.0, seq=seq + 1, priority=NORMAL, tenant=3, host="a")
        pick.pick(0.0, 1 if limits.concurrency else 0)  # a free worker meets the full host
        pick.finish(0.0, running.pop(0))
    assert [served[tenant] for tenant in range(3)] == pytest.approx([50, 50, 50], abs=1)


@pytest.mark.req("NFR-5")
@pytest.mark.req("FR-12")
def test_tenant_never_runs_more_than_its_maximum_and_always_that_much():
    pool = Pool(50, shares={tenant: TenantShare(max_running=3) for tenant in range(5)})
    for queue in range(3):
        for tenant in range(5):
            pool.add(queue, tenant, tenant, 60)
    peaks: Counter[int] = Counter()

    def watch() -> None:
        running = Counter(pool.jobs[seq][1] for seq in pool.picker.outstanding)
        assert all(n == 3 for n in running.values())
        peaks.update(running.keys())

    pool.run(8, watch=watch)
    assert set(peaks) == set(range(5))


@pytest.mark.req("NFR-5")
@pytest.mark.req("NFR-6")
def test_tenant_at_its_maximum_holds_no_room_at_a_host_that_others_wait_for():
    pick = picker(limits={"shop": HostLimits(concurrency=1)}, shares={1: TenantShare(max_running=1)})
    pick.add(0.0, seq=0, priority=NORMAL, tenant=9, host="shop")
    assert pick.pick(0.0, 9) == [0]
    fill(pick, [(HIGH, 1, "shop"), (NORMAL, 2, "shop")], first=1)
    assert pick.pick(0.0, 9) == []
    pick.add(0.0, seq=3, priority=HIGH, tenant=1, host="else")
    assert pick.pick(0.0, 9) == [3]
    pick.finish(0.0, 0)
    assert pick.pick(0.0, 9) == [2]


@pytest.mark.req("NFR-5")
@pytest.mark.req("NFR-6")
def test_tenant_that_reaches_its_maximum_passes_its_promised_room_on():
    pick = picker(limits={"shop": HostLimits(concurrency=1)}, shares={1: TenantShare(max_running=1)})
    pick.add(0.0, seq=0, priority=LOW, tenant=9, host="shop")
    assert pick.pick(0.0, 9) == [0]
    fill(pick, [(LOW, 1, "shop"), (LOW, 2, "shop")], first=1)
    assert pick.pick(0.0, 9) == []
    pick.add(0.0, seq=3, priority=HIGH, tenant=1, host="else")
    pick.finish(0.0, 0)  # the room is promised to tenant 1, who is first in line
    assert pick.pick(0.0, 9) == [3, 2]


# ---- hosts: in turn inside a tenant, blocked ones never walked over


@pytest.mark.req("NFR-5")
def test_hosts_take_turns_inside_a_tenant():
    pick = picker()
    fill(pick, [(NORMAL, 1, "a")] * 50 + [(NORMAL, 1, "b")] * 50 + [(NORMAL, 1, "c")] * 50)
    assert [seq // 50 for seq in pick.pick(0.0, 30)] == [0, 1, 2] * 10


@pytest.mark.req("NFR-5")
def test_crowded_host_takes_every_second_turn_of_a_tenant_and_not_more():
    pick = picker(limits={"hot": HostLimits(concurrency=2)}, shares={1: TenantShare(weight=1000.0)})
    fill(pick, [(NORMAL, 1, "hot")] * 100 + [(NORMAL, 2, "hot")] * 100)
    fill(pick, [(NORMAL, 1, f"quiet-{n}") for n in range(50)], first=200)
    for seq in (900, 901):
        pick.hold(0.0, seq=seq, tenant=9, host="hot", arrives_at=0.0)
    seqs = pick.pick(0.0, 50)  # all but the hot host, at which both tenants wait now
    fill(pick, [(NORMAL, 1, f"quiet-{n}") for n in range(50)], first=300)
    for seq in (900, 901, *seqs):
        pick.finish(0.0, seq)
    for _ in range(60):
        seqs += pick.pick(0.0, 1)
        pick.finish(0.0, seqs[-1])
    assert sum(seq < 100 for seq in seqs[-50:]) == pytest.approx(25, abs=2)
    assert sum(seq >= 200 for seq in seqs[-50:]) == pytest.approx(25, abs=2)


@pytest.mark.req("NFR-5")
@pytest.mark.req("NFR-6")
def test_promised_room_is_not_taken_by_who_has_not_waited():
    pick = picker(limits={"shop": HostLimits(concurrency=1)})
    pick.add(0.0, seq=0, priority=NORMAL, tenant=9, host="shop")
    assert pick.pick(0.0, 1) == [0]
    fill(pick, [(NORMAL, 2, "shop"), (NORMAL, 4, "else"), (NORMAL, 3, "shop")], first=1)
    assert pick.pick(0.0, 1) == [2]  # tenant 2 was found blocked and waits; tenant 3 was not asked yet
    pick.finish(0.0, 0)
    assert pick.pick(0.0, 9) == [1]


@pytest.mark.req("NFR-6")
@pytest.mark.case("S15")
def test_slow_host_holds_its_one_slot_and_a_fast_host_is_done_as_if_it_were_alone():
    pick = picker(limits={"slow": HostLimits(concurrency=1)})
    fill(pick, [(NORMAL, 1, "slow")] * 1000 + [(NORMAL, 1, "fast")] * 100)
    assert sorted(pick.pick(0.0, 20)) == [0, *range(1000, 1019)]
    fast = set()
    for now in range(1, 6):
        for seq in list(pick.outstanding):
            if seq:
                fast.add(seq)
                pick.finish(float(now), seq)
        assert 0 in pick.outstanding
        assert all(seq >= 1000 for seq in pick.pick(float(now), 19))
    assert len(fast) >= 95  # 5 rounds of 19: each was full
    assert pick.next_timer() == INF  # no clock can help the slow host: nobody looks at it


@pytest.mark.req("NFR-6")
@pytest.mark.case("S15")
def test_no_timer_rings_while_promised_room_is_not_used():
    pick = picker(limits={"a": HostLimits(rate=1000.0, burst=1.0)}, cold_start_at=0.0)
    fill(pick, [(NORMAL, 1, "a"), (NORMAL, 2, "a")])
    assert pick.pick(0.0, 1) == []
    assert pick.next_timer() == pytest.approx(0.001, abs=1e-5)
    assert pick.pick(1.0, 0) == []  # no worker is free: the token is promised, no other can come
    assert pick.next_timer() == INF
    assert pick.pick(1.0, 1) == [0]
    assert pick.next_timer() == INF  # the next token comes after this one is spent
    pick.claimed(1.0, 0, at=1.0)
    assert pick.next_timer() == pytest.approx(1.001, abs=1e-5)


def calls_made(pool: Pool, seconds: float):
    """How many Python calls a run takes: the work done, whatever the machine."""
    calls: Counter[str] = Counter()
    sys.setprofile(lambda _frame, event, _arg: calls.update([event]))
    try:
        pool.run(seconds)
    finally:
        sys.setprofile(None)
    return calls["call"]


@pytest.mark.req("NFR-6")
@pytest.mark.case("S15")
def test_four_hundred_thousand_blocked_entries_are_not_walked_over():
    runs = []
    for blocked in (0, 400_000):
        pool = Pool(20)
        pool.picker.close_host(0.0, "paused", INF)
        for seq in range(10**6, 10**6 + blocked):
            pool.picker.add(0.0, seq=seq, priority=seq % 3, tenant=1 + seq % 300, host="paused")
        pool.run(0.02)  # each blocked lane is met once
        for n in range(600):
            pool.add(n % 3, 1 + n % 300, f"open-{n % 50}")
        runs.append((calls_made(pool, 4), pool.starts))
    (calls_without, starts_without), (calls, starts) = runs
    assert starts == starts_without
    assert calls <= calls_without
    assert len(pool.starts) >= 390


@pytest.mark.req("NFR-5")
@pytest.mark.req("FR-11")
def test_blocked_backlog_costs_its_tenant_nothing_and_earns_it_nothing_when_it_opens():
    pool = Pool(20)
    pool.picker.close_host(0.0, "paused", INF)
    pool.add(NORMAL, 1, "paused", 500)
    for tenant in range(1, 11):
        pool.add(NORMAL, tenant, f"open-{tenant}", 250)
    pool.run(10)
    assert pool.count(1)[1] / len(pool.starts) == pytest.approx(0.1, abs=0.003)
    pool.picker.close_host(pool.now, "paused", 0.0)
    opened = pool.now
    pool.run(5)
    by = pool.count(1, since=opened)
    assert by[1] / by.total() == pytest.approx(0.1, abs=0.01)
    assert pool.count(2, since=opened)["paused"] > 0


# ---- limits of hosts


def violations(pool: Pool, limits: HostLimits):
    """Replays what happened: starts beyond burst + rate * t, and jobs beyond the slots, per host."""
    events = defaultdict(list)
    for at, seq in pool.ends:
        events[pool.jobs[seq][2]].append((at, -1))
    for at, seq in pool.starts:
        events[pool.jobs[seq][2]].append((at, 1))
    rate = slots = 0
    for happened in events.values():
        tokens, last, running = limits.burst, 0.0, 0
        for at, step in sorted(happened):
            running += step
            slots += running > limits.concurrency
            if step == 1:
                tokens = min(limits.burst, tokens + (at - last) * limits.rate) - 1
                last = at
                rate += tokens < -1e-6
    return rate, slots


@pytest.mark.req("NFR-6")
@pytest.mark.req("NFR-5")
@pytest.mark.parametrize(("rate", "slots", "hosts", "workers"), [(5.0, 2, 8, 60), (20.0, 4, 5, 60), (5.0, 2, 8, 8)])
def test_crowded_hosts_keep_their_limits_and_are_shared_by_queue_and_weight(
    rate: float, slots: int, hosts: int, workers: int
):
    limits = HostLimits(rate=rate, burst=3.0, concurrency=slots)
    heavy = {tenant: TenantShare(weight=2.0) for tenant in range(2)}
    pool = Pool(workers, lasts=uneven(3), limits=limits, shares=heavy, cold_start_at=0.0)
    for host in range(hosts):
        for queue in range(3):
            for tenant in range(6):
                pool.add(queue, tenant, host, (240, 120, 50)[queue])
    pool.run(40)
    assert violations(pool, limits) == (0, 0)
    assert pool.shares_of_queues() == pytest.approx([0.6, 0.3, 0.1], abs=0.02)
    by = pool.count(1)
    assert jain([by[tenant] / (2 if tenant < 2 else 1) for tenant in range(6)]) >= 0.995


@pytest.mark.req("NFR-5")
def test_queue_that_comes_late_to_a_crowded_host_gets_its_share_and_no_more():
    pool = Pool(9, lasts=lambda: 0.05, limits=HostLimits(concurrency=1))
    pool.add(NORMAL, 1, "a", 400)
    pool.add(NORMAL, 2, "a", 400)
    pool.run(10)
    late = pool.now
    pool.add(HIGH, 1, "a", 200)
    pool.add(LOW, 1, "a", 200)
    pool.run(10)
    assert pool.shares_of_queues(since=late) == pytest.approx([0.6, 0.3, 0.1], abs=0.02)


@pytest.mark.req("NFR-6")
def test_saturated_host_is_used_to_its_limit():
    limits = HostLimits(rate=5.0, burst=1.0, concurrency=2)
    pool = Pool(9, lasts=lambda: 0.1, limits=limits, cold_start_at=0.0)
    for tenant in range(3):
        pool.add(NORMAL, tenant, "a", 100)
    pool.run(20, tick=0.01)
    assert len(pool.starts) == pytest.approx(5.0 * 20, rel=0.05)


@pytest.mark.req("NFR-6")
def test_new_leader_takes_its_buckets_for_empty_at_its_birth():
    limits = {"a": HostLimits(rate=1.0, burst=3.0)}
    leader = picker(limits=limits, cold_start_at=100.0)
    fill(leader, [(NORMAL, 1, "a")] * 9)
    assert leader.pick(100.0, 9) == []
    assert leader.pick(102.0, 9) == [0, 1]
    later = picker(limits=limits, cold_start_at=100.0)
    fill(later, [(NORMAL, 1, "a")] * 9, now=500.0)
    assert later.pick(500.0, 9) == [0, 1, 2]  # first seen long after: full


@pytest.mark.req("NFR-6")
def test_leader_that_begins_to_count_later_has_no_tokens_from_before():
    """It was born at 0 and read for five seconds; the request of entry 90 is at its host at 5.5 at the latest."""
    pick = picker(limits={"a": HostLimits(rate=1.0, burst=9.0)}, cold_start_at=0.0)
    fill(pick, [(NORMAL, 1, "a")] * 9)
    pick.empty_buckets(5.0)
    pick.hold(5.0, seq=90, tenant=1, host="a", arrives_at=5.5)
    pick.hold(5.0, seq=91, tenant=1, host="a", arrives_at=4.9)
    pick.hold(5.0, seq=92, tenant=1, host="a", arrives_at=None)
    assert pick.pick(7.9, 9) == []  # two tokens: one was spent, one is set aside
    assert pick.pick(8.1, 9) == [0]


@pytest.mark.req("NFR-6")
def test_what_a_former_leader_handed_out_holds_its_slot_until_it_ends():
    pick = picker(limits={"a": HostLimits(concurrency=2)}, shares={1: TenantShare(max_running=2)})
    fill(pick, [(NORMAL, 1, "a"), (NORMAL, 1, "b")])
    pick.hold(0.0, seq=90, tenant=2, host="a", arrives_at=0.0)
    pick.hold(0.0, seq=91, tenant=1, host="a", arrives_at=None)
    assert set(pick.outstanding) == {90, 91}
    assert pick.pick(0.0, 9) == [1]
    pick.finish(0.0, 1)
    assert pick.pick(0.0, 9) == []
    pick.finish(0.0, 90)
    assert pick.pick(0.0, 9) == [0]


@pytest.mark.req("NFR-6")
def test_what_never_started_gives_back_its_slot_and_its_token():
    pick = picker(limits={"a": HostLimits(rate=0.001, burst=1.0, concurrency=1)})
    fill(pick, [(NORMAL, 1, "a")] * 2)
    assert pick.pick(0.0, 2) == [0]
    pick.give_back(0.0, 0)
    assert pick.pick(0.0, 2) == [1]
    pick.finish(0.0, 1)
    pick.add(0.0, seq=2, priority=NORMAL, tenant=1, host="a")
    assert pick.pick(0.0, 2) == []  # that one did start: its token is spent


@pytest.mark.req("FR-5")
@pytest.mark.req("NFR-5")
def test_cancelled_entries_cost_their_tenant_and_their_queue_no_turns():
    pick = picker()
    fill(pick, [(HIGH, 1, "a")] * 100 + [(HIGH, 2, "b")] * 200 + [(NORMAL, 3, "c")] * 200)
    started: Counter[int] = Counter()
    while started.total() < 90:
        (seq,) = pick.pick(0.0, 1)
        if seq < 70:
            pick.give_back(0.0, seq)
        else:
            started[seq // 100] += 1
    assert started[0] == pytest.approx(30, abs=2)
    assert started[1] + started[2] == pytest.approx(30, abs=2)
    assert started[3] + started[4] == pytest.approx(30, abs=2)


@pytest.mark.req("NFR-6")
def test_token_of_a_former_leaders_entry_is_not_given_back_twice():
    pick = picker(limits={"a": HostLimits(rate=0.001, burst=5.0)}, cold_start_at=0.0)
    pick.hold(0.0, seq=90, tenant=1, host="a", arrives_at=None)
    fill(pick, [(NORMAL, 1, "a")])
    pick.give_back(0.0, 90)
    assert pick.pick(0.0, 1) == []


@pytest.mark.req("FR-11")
def test_closed_host_opens_by_the_clock():
    pick = picker()
    pick.close_host(0.0, "a", 7.0)
    fill(pick, [(NORMAL, 1, "a")] * 2)
    assert pick.pick(6.9, 9) == []
    assert pick.next_timer() == 7.0
    assert pick.pick(7.0, 9) == [0, 1]
    assert pick.next_timer() == INF


# ---- live changes


@pytest.mark.req("FR-11")
def test_new_limits_of_a_host_hold_at_once_for_what_is_queued():
    pick = picker(limits={"a": HostLimits(concurrency=1)})
    fill(pick, [(NORMAL, tenant, "a") for tenant in range(20)])
    assert len(pick.pick(0.0, 20)) == 1
    pick.set_host_limits(0.0, "a", HostLimits(concurrency=4))
    assert len(pick.pick(0.0, 20)) == 3
    pick.set_host_limits(0.0, "a", HostLimits(concurrency=2))
    for seq in list(pick.outstanding)[:2]:
        pick.finish(0.0, seq)
    assert pick.pick(0.0, 20) == []
    for seq in pick.outstanding:
        pick.claimed(0.0, seq, at=0.0)
    pick.set_host_limits(0.0, "a", HostLimits(rate=2.0, burst=5.0))
    assert pick.pick(0.0, 20) == []  # its first rate: an empty bucket
    two = pick.pick(1.001, 20)
    assert len(two) == 2
    for seq in two:
        pick.claimed(1.001, seq, at=1.001)
    pick.set_host_limits(1.001, "a", HostLimits(rate=100.0, burst=5.0))
    assert len(pick.pick(1.05, 20)) == 4
    pick.set_host_limits(1.05, "a", UNLIMITED)
    assert len(pick.pick(1.05, 20)) == 10


@pytest.mark.req("FR-12")
@pytest.mark.parametrize("limits", [UNLIMITED, HostLimits(concurrency=1)])
def test_new_weight_of_a_tenant_holds_at_once_for_what_is_queued(limits: HostLimits):
    pick = picker(limits={"a": limits}, shares={1: TenantShare(weight=0.01)})
    fill(pick, [(NORMAL, 1, "a"), (NORMAL, 2, "a")] * 300)

    def served(n: int) -> Counter[int]:
        by: Counter[int] = Counter()
        for _ in range(n):
            (seq,) = pick.pick(0.0, 1)
            pick.finish(0.0, seq)
            by[1 + seq % 2] += 1
        return by

    assert served(50)[1] <= 2
    pick.set_share(0.0, 1, TenantShare(weight=3.0))
    assert served(200)[1] == pytest.approx(150, abs=3)


@pytest.mark.req("FR-12")
def test_new_maximum_of_a_tenant_holds_at_once_for_what_is_queued():
    pick = picker(shares={1: TenantShare(max_running=1)})
    fill(pick, [(NORMAL, 1, "a")] * 20)
    assert len(pick.pick(0.0, 20)) == 1
    pick.set_share(0.0, 1, TenantShare(max_running=3))
    assert len(pick.pick(0.0, 20)) == 2
    pick.set_share(0.0, 1, TenantShare(max_running=2))
    pick.finish(0.0, 0)
    assert pick.pick(0.0, 20) == []
    pick.set_share(0.0, 1, EVEN)
    assert len(pick.pick(0.0, 20)) == 17


@pytest.mark.req("FR-12")
@pytest.mark.parametrize("wrong", [{"weight": 0.0}, {"weight": math.nan}, {"max_running": 0}])
def test_share_that_would_starve_a_tenant_is_refused(wrong: dict[str, float]):
    with pytest.raises(ValueError, match="must be"):
        TenantShare(**wrong)


# ---- order and books


@pytest.mark.req("NFR-5")
def test_lane_is_first_in_first_out_and_front_comes_before_it():
    pick = picker()
    fill(pick, [(NORMAL, 1, "a")] * 4)
    assert pick.pick(0.0, 2) == [0, 1]
    pick.add(0.0, seq=50, priority=NORMAL, tenant=1, host="a", front=True)
    pick.add(0.0, seq=51, priority=NORMAL, tenant=1, host="a")
    assert pick.pick(0.0, 9) == [50, 2, 3, 51]


@pytest.mark.req("NFR-5")
@pytest.mark.case("S17")
def test_room_promised_to_a_lane_whose_entries_are_gone_is_for_the_next_in_line():
    pick = picker(limits={"a": HostLimits(concurrency=1)})
    fill(pick, [(NORMAL, 1, "a"), (NORMAL, 2, "a"), (NORMAL, 3, "a")])
    assert pick.pick(0.0, 9) == [0]
    pick.finish(0.0, 0)  # the room is promised to tenant 2 now
    pick.forget(0.0, (NORMAL, 2, "a"), {1})
    assert pick.pick(0.0, 9) == [2]
    pick.finish(0.0, 2)
    fill(pick, [(NORMAL, 4, "a")], first=3)
    assert pick.pick(0.0, 9) == [3]


@pytest.mark.req("FR-13")
def test_the_picker_counts_what_is_queued():
    pick = picker()
    fill(pick, [(HIGH, 1, "a"), (LOW, 1, "a"), (LOW, 2, "b")])
    assert pick.queued == 3
    pick.pick(0.0, 2)
    assert pick.queued == 1


@pytest.mark.req("NFR-6")
def test_entry_that_is_not_outstanding_cannot_end():
    for end in (picker().finish, picker().give_back):
        with pytest.raises(KeyError):
            end(0.0, 1)


@pytest.mark.req("NFR-5")
@pytest.mark.parametrize(("slots", "workers"), [(1, 40), (2, 40), (5, 40), (10, 40), (30, 40), (10, 10)])
def test_one_tenant_in_each_queue_is_enough_for_a_crowded_host_to_be_shared_by_queue(slots: int, workers: int):
    pool = Pool(workers, limits=HostLimits(concurrency=slots))
    for queue in range(3):
        pool.add(queue, queue, "a", 600 * slots)
    pool.run(60)
    assert pool.shares_of_queues() == pytest.approx([0.6, 0.3, 0.1], rel=0.05)
    assert violations(pool, HostLimits(rate=INF, concurrency=slots)) == (0, 0)


@pytest.mark.req("NFR-5")
@pytest.mark.req("NFR-6")
def test_tenant_whose_turn_is_rare_does_not_gather_the_room_of_a_crowded_host():
    """One job ends and one starts at each step, eight run. Tenant 2 waits for one of 201 turns of the low queue: of the
    five slots at the hot host it may hold one unused, so half of all starts are the host's other four slots.
    """
    pick = picker(limits={"hot": HostLimits(concurrency=5)})
    fill(pick, [(HIGH, 1, "hot")] * 900 + [(LOW, 2, "hot")] * 900)
    fill(pick, [(LOW, 10 + n % 200, "quiet") for n in range(2000)], first=1800)
    starts: list[int] = []
    for step in range(1500):
        if step >= 8:
            pick.finish(float(step), starts[step - 8])
        starts += pick.pick(float(step), 1)
    assert len(starts) == 1500
    assert sum(seq < 1800 for seq in starts) >= 750


@pytest.mark.req("NFR-5")
def test_entries_that_are_cancelled_take_their_promises_with_them():
    pick = picker(limits={"a": HostLimits(concurrency=4)})
    for seq in (90, 91, 92, 93):
        pick.hold(0.0, seq=seq, tenant=9, host="a", arrives_at=0.0)
    fill(pick, [(NORMAL, 1, "a")] * 3 + [(LOW, 2, "a")] * 9)
    assert pick.pick(0.0, 9) == []  # both wait
    for seq in (90, 91, 92, 93):
        pick.finish(0.0, seq)  # three for tenant 1, one for tenant 2
    pick.forget(0.0, (NORMAL, 1, "a"), {1, 2})
    assert sorted(pick.pick(0.0, 9)) == [0, 3, 4, 5]
