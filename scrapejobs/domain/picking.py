"""Which jobs next? The one place of the rules of order, fairness and politeness. (NFR-5, NFR-6)

Pure: no I/O and no clock. `now` is always an argument, in float seconds of a monotonic clock.
"""

from collections.abc import Callable, Container, Iterator, KeysView, Sequence
from dataclasses import dataclass
from itertools import islice
from sys import maxsize

from scrapejobs.domain.fairness import WEIGHTS, FairQueue, Turns
from scrapejobs.domain.lanes import EMPTY, READY, WAITING, WOKEN, Flow, Host, Lane, LaneKey, Tenant, TenantShare
from scrapejobs.domain.politeness import EVER, INFINITY, HostLimits, TokenBucket
from scrapejobs.domain.roster import Roster
from scrapejobs.domain.waiting import WaitingRoom

__all__ = ["WEIGHTS", "HostLimits", "Picker", "TenantShare"]

# What a job that was handed out holds: its tenant, its host, and what to refund if it never starts (nothing
# for one that a former leader handed out).
Load = tuple[Tenant, Host, Flow | None, TokenBucket | None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A lane whose window runs low: at most `n` of its entries with a seq above `after` are asked for."""

    priority: int
    tenant: int
    host: str
    after: int
    n: int


class Picker:
    """Holds the heads of what is queued, and what runs, and picks what may start now.

    Of each lane a window of heads is held, whatever its length: the caller asks what is `wanted` and gives it to
    `refill`. Blocked work is never walked over: a lane whose host has no room waits in the line before that host, and
    comes back when a job ends there, when a timer rings, or when an operator changes something.
    """

    def __init__(
        self,
        *,
        limits_of: Callable[[str], HostLimits],
        share_of: Callable[[int], TenantShare],
        closed_until_of: Callable[[str], float] = lambda _: EVER,
        cold_start_at: float = EVER,
        window: int = maxsize,
    ) -> None:
        """`limits_of`, `closed_until_of` and `share_of` are asked for every host and tenant when it is first seen or
        seen again.

        A new leader gives its own birth as `cold_start_at`: its buckets were empty then, for the former leader
        may have spent them the moment before, and have been filling since. Without it they are full.

        `window`: how many entries of a lane are held at first; all of them if not said.
        """
        self._roster = Roster(
            limits_of=limits_of,
            share_of=share_of,
            closed_until_of=closed_until_of,
            cold_start_at=cold_start_at,
            window=window,
        )
        self._lanes = self._roster.lanes
        self._out: dict[int, Load] = {}
        self._low: dict[LaneKey, Lane] = {}  # lanes to be filled again
        self._depth = [0, 0, 0]  # entries held, by priority
        self._turns = Turns()
        self._queues: tuple[FairQueue[Flow], ...] = (FairQueue(), FairQueue(), FairQueue())
        self._waiting = WaitingRoom(activate=self._activate, forget=self._drop_lane)

    # ---- what the dispatcher reads

    @property
    def outstanding(self) -> KeysView[int]:
        """The entries that count as load: handed out, and not known to have ended. A live view."""
        return self._out.keys()

    @property
    def queued(self) -> int:
        """How many entries are held in memory."""
        return sum(self._depth)

    @property
    def hosts(self) -> KeysView[str]:
        """The hosts that it knows now. A live view."""
        return self._roster.hosts.keys()

    def crowded(self, most: int) -> list[tuple[str, float]]:
        """Up to `most` hosts before which jobs wait for room, with when time alone brings some; infinity if only the
        end of a job does.
        """
        hosts = (host for host in self._roster.hosts.values() if host.line is not None and host.line.n_waiting)
        return [(host.key, host.rings_at) for host in islice(hosts, most)]

    def next_timer(self) -> float:
        """When a pick may become possible by time alone; infinity if never."""
        return self._waiting.next_timer()

    def wanted(self, most: int) -> list[Wanted]:
        """Up to `most` of the lanes that run low."""
        return [Wanted(*lane.key, after=lane.last, n=lane.next_window) for lane in islice(self._low.values(), most)]

    # ---- what happens to entries

    def add(self, now: float, *, seq: int, priority: int, tenant: int, host: str, front: bool = False) -> None:
        """A queued entry. `front`: ahead of its own lane (queue, tenant, host), not of anyone else."""
        lane = self._lane(priority, tenant, host)
        if lane.append(seq, front=front):
            self._depth[priority] += 1
            self._stand(now, lane)

    def refill(self, now: float, *, priority: int, tenant: int, host: str, seqs: Sequence[int], has_more: bool) -> None:
        """The next entries of a lane, in order, all that `add` has not been told or has left behind the window;
        `has_more`: there are others behind them.
        """
        lane = self._lane(priority, tenant, host)
        self._low.pop(lane.key, None)
        lane.extend(seqs, has_more=has_more)
        self._depth[priority] += len(seqs)
        if lane:
            self._stand(now, lane)
        else:
            self._empty(lane)

    def hold(self, now: float, *, seq: int, tenant: int, host: str) -> None:
        """An entry that a former leader handed out: it is load, whatever the limits say."""
        owner, place = self._roster.tenant(tenant), self._roster.host(host)
        self._out[seq] = (owner, place, None, None)
        owner.running += 1
        place.gate.running += 1
        if owner.running >= owner.max_running:
            self._waiting.release_promises(now, owner)

    def pick(self, now: float, n: int) -> list[int]:
        """At most `n` entries that may start now, in the order of their turns; from now on they are load."""
        self._waiting.ring(now)
        self._roster.drop_rested_hosts(now)
        picked: list[int] = []
        while len(picked) < n:
            queue = self._turns.choose(self._queues)
            if queue is None:
                break
            lane = self._next_lane(now, queue)
            if lane is not None:  # else the whole queue was blocked: the others share its turns
                picked.append(self._start(now, lane))
                self._turns.charge(queue)
        return picked

    def finish(self, now: float, seq: int) -> None:
        """The entry's lease or ready row is gone. KeyError if it was not outstanding."""
        tenant, host, _, _ = self._out.pop(seq)
        self._unload(now, tenant, host)

    def give_back(self, now: float, seq: int) -> None:
        """The entry never started: slot, token and turn are given back. KeyError if it was not outstanding.

        It is not queued again: `add` it if it shall be.
        """
        tenant, host, flow, bucket = self._out.pop(seq)
        if bucket is not None:
            bucket.put_back()
        if flow is not None:
            flow.refunds += 1
            self._turns.refund(flow.queue)
        self._unload(now, tenant, host)

    def entries(self) -> Iterator[tuple[int, LaneKey]]:
        """What is held, with the lane that holds it. What comes or goes meanwhile may be met or not."""
        for key in list(self._lanes):
            if lane := self._lanes.get(key):
                yield from ((seq, key) for seq in [*lane.head, *lane.tail])

    def forget(self, now: float, key: LaneKey, gone: Container[int]) -> None:
        """Entries of a lane that are queued no more; those that it does not hold are no matter."""
        lane = self._lanes.get(key)
        if lane:
            self._depth[lane.flow.queue] -= lane.remove(gone)
            if lane.runs_low:
                self._low[key] = lane
            if not lane:
                self._withdraw(now, lane)

    # ---- what operators and targets change; all of it holds at once, also for what is queued

    def close_host(self, now: float, host: str, until: float) -> None:
        """Nothing starts at `host` before `until` (pause, Retry-After, circuit); `until <= now` opens it."""
        place = self._roster.host(host)
        place.gate.closed_until = until
        self._host_changed(now, place)

    def set_host_limits(self, now: float, host: str, limits: HostLimits) -> None:
        """New limits; the bucket keeps its level as far as the new burst holds it. (FR-11)"""
        place = self._roster.hosts.get(host)
        if place is not None:
            place.gate.change(now, limits)
            self._host_changed(now, place)

    def set_share(self, now: float, tenant: int, share: TenantShare) -> None:
        """A new weight or number of running jobs; a turn already had is priced anew. (FR-12)"""
        owner = self._roster.tenants.get(tenant)
        if owner is None:
            return
        old_cost = owner.cost
        owner.set_share(share)
        if owner.cost != old_cost:
            self._reprice(owner, owner.cost / old_cost)
        if owner.running >= owner.max_running:
            self._waiting.release_promises(now, owner)
        else:
            self._resume(owner)

    # ---- the choice

    def _next_lane(self, now: float, queue: int) -> Lane | None:
        """The lane whose turn it is in `queue`; parks the blocked ones that it meets, once each."""
        line = self._queues[queue]
        while line.heap:
            flow = line.heap[0][2]
            if flow.tenant.running < flow.tenant.max_running:
                while (lane := flow.take_lane()) is not None:
                    if lane.host.has_room_for(now, lane):
                        return lane
                    self._waiting.park(now, lane)
            line.pop()
            flow.is_active = False
        return None

    def _start(self, now: float, lane: Lane) -> int:
        """Hand out the first entry of `lane`, charge everyone, and find the lane its next place."""
        flow, host = lane.flow, lane.host
        seq = lane.pop()
        self._depth[flow.queue] -= 1
        if lane.runs_low:
            self._low[lane.key] = lane
        self._out[seq] = (flow.tenant, host, flow, host.gate.start())
        flow.tenant.running += 1
        flow.prefer_woken = lane.state != WOKEN
        if host.line is not None and lane.state == WOKEN:
            host.line.redeem(lane)
        must_wait = host.is_crowded
        if lane and not must_wait:
            flow.ready.append(lane)
        self._charge(flow)
        if not lane:
            self._empty(lane)
        elif must_wait:
            self._waiting.park(now, lane)
        if host.line is not None:
            self._waiting.wake(now, host, host.line)
        if flow.tenant.running >= flow.tenant.max_running:
            self._waiting.release_promises(now, flow.tenant)
        if self._queues[flow.queue].resting:
            self._forget_rested(flow.queue)
        return seq

    def _charge(self, flow: Flow) -> None:
        """The first flow of its queue has had its turn."""
        queue = self._queues[flow.queue]
        if flow.ready or flow.woken:
            queue.charge_first(flow.cost())
        else:
            queue.pop()
            flow.tag += flow.cost()
            flow.is_active = False

    def _lane(self, priority: int, tenant: int, host: str) -> Lane:
        lane = self._lanes.get((priority, tenant, host))  # an empty one is false
        return self._roster.make_lane(priority, tenant, host) if lane is None else lane

    def _stand(self, now: float, lane: Lane) -> None:
        """A lane that holds entries stands in its flow or in the line before its host."""
        if lane.state == EMPTY:
            if lane.host.is_crowded:
                self._waiting.park(now, lane)
            else:
                self._make_ready(lane)

    def _make_ready(self, lane: Lane) -> None:
        lane.state = READY
        lane.flow.ready.append(lane)
        self._activate(lane.flow)

    def _activate(self, flow: Flow) -> None:
        """The flow stands in its queue, if it has something to offer and its tenant may run more."""
        tenant = flow.tenant
        if flow.is_active or not (flow.ready or flow.woken) or tenant.running >= tenant.max_running:
            return
        queue = self._queues[flow.queue]
        if not queue.heap:
            self._turns.join(flow.queue)
        queue.push(flow)
        flow.is_active = True

    # ---- what follows from a change

    def _unload(self, now: float, tenant: Tenant, host: Host) -> None:
        """One job less at `tenant` and at `host`: others may start."""
        tenant.running -= 1
        host.gate.running -= 1
        if tenant.max_running < INFINITY:
            self._resume(tenant)
        if not tenant.running:
            self._roster.drop_tenant(tenant)
        self._host_changed(now, host)

    def _host_changed(self, now: float, host: Host) -> None:
        if host.line is not None:
            self._waiting.wake(now, host, host.line)
        if host.is_idle:
            self._roster.drop_host(now, host)

    def _resume(self, tenant: Tenant) -> None:
        """The tenant may run more, perhaps: its flows stand in their queues again."""
        for flow in tenant.flows:
            if flow is not None:
                self._activate(flow)

    def _reprice(self, tenant: Tenant, factor: float) -> None:
        for flow in tenant.flows:
            if flow is not None:
                self._queues[flow.queue].reprice(flow, factor)
        for lane in self._lanes.values():
            if lane.flow.tenant is tenant and lane.host.line is not None:
                lane.host.line.queues[lane.flow.queue].reprice(lane, factor)

    # ---- forgetting

    def _withdraw(self, now: float, lane: Lane) -> None:
        """The lane has run empty where it stands: it goes, and what it was promised is for the next in line."""
        flow, host, line = lane.flow, lane.host, lane.host.line
        if lane.state == READY:
            flow.ready.remove(lane)
        elif line is not None and lane.state == WAITING:
            line.withdraw(lane)
        elif line is not None and flow.woken:
            flow.woken.remove(lane)
            line.release(lane)
        if flow.is_active and not (flow.ready or flow.woken):
            self._queues[flow.queue].withdraw(flow)
            flow.is_active = False
        self._empty(lane)
        self._host_changed(now, host)

    def _empty(self, lane: Lane) -> None:
        """The lane has run empty: it is forgotten, at once or when the line has passed its tag, unless there is more
        behind it.
        """
        lane.state = EMPTY
        host, queue = lane.host, lane.flow.queue
        if host.is_crowded and host.line is not None and lane.tag > host.line.queues[queue].clock:
            host.line.queues[queue].rest(lane)
        else:
            self._drop_lane(lane)

    def _drop_lane(self, lane: Lane) -> None:
        if self._roster.drop_lane(lane):
            flow = lane.flow
            flow.refunds = 0
            self._queues[flow.queue].rest(flow)
            self._forget_rested(flow.queue)

    def _forget_rested(self, queue: int) -> None:
        """Forget the flows without work whose tag the clock has passed; all when nothing is queued."""
        line = self._queues[queue]
        is_busy = self._depth[queue] or any(key[0] == queue for key in self._low)
        for flow in line.rested() if is_busy else line.drain_resting():
            self._roster.drop_flow(flow)
