"""Which jobs next? The one place of the rules of order, fairness and politeness. (NFR-5, NFR-6)

Pure: no I/O and no clock. `now` is always an argument, in float seconds of a monotonic clock.
"""

from collections.abc import Callable, Container, Iterator, KeysView, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from sys import maxsize

from scrapejobs.domain.fairness import WEIGHTS
from scrapejobs.domain.lanes import Lane, LaneKey, Tenant, TenantShare
from scrapejobs.domain.loads import Loads
from scrapejobs.domain.places import Places
from scrapejobs.domain.politeness import EVER, HostLimits
from scrapejobs.domain.queues import Queues
from scrapejobs.domain.roster import Roster
from scrapejobs.domain.windows import Wanted, Windows

__all__ = ["WEIGHTS", "HostLimits", "Picker", "TenantShare", "Wanted"]


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
        self._windows = Windows()
        self._queues = Queues()
        self._places = Places(self._roster, self._queues, self._windows)
        self._waiting = self._places.waiting
        self._loads = Loads(self._roster, self._queues, self._waiting)

    # ---- what the dispatcher reads

    @property
    def outstanding(self) -> KeysView[int]:
        """The entries that count as load: handed out, and not known to have ended. A live view."""
        return self._loads.seqs

    @property
    def unclaimed(self) -> AbstractSet[int]:
        """Those of them that are not known to be claimed. A live view."""
        return self._loads.unclaimed

    @property
    def queued(self) -> int:
        """How many entries are held in memory."""
        return self._windows.n_held

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

    @property
    def asking(self) -> KeysView[int]:
        """The entries that wait for a permit. A live view."""
        return self._loads.asking

    def next_permit(self, now: float) -> float:
        """When a permit may become possible by time alone; infinity if never."""
        return self._loads.next_permit(now)

    def wanted(self, most: int) -> list[Wanted]:
        """Up to `most` of the lanes that run low."""
        return self._windows.wanted(most)

    # ---- what happens to entries

    def add(self, now: float, *, seq: int, priority: int, tenant: int, host: str, front: bool = False) -> None:
        """A queued entry. `front`: ahead of its own lane (queue, tenant, host), not of anyone else."""
        lane = self._lane(priority, tenant, host)
        if lane.append(seq, front=front):
            self._windows.gained(lane, 1)
            self._places.stand(now, lane)

    def refill(self, now: float, *, priority: int, tenant: int, host: str, seqs: Sequence[int], has_more: bool) -> None:
        """The next entries of a lane, in order, all that `add` has not been told or has left behind the window;
        `has_more`: there are others behind them.
        """
        lane = self._lane(priority, tenant, host)
        lane.extend(seqs, has_more=has_more)
        self._windows.filled(lane, len(seqs))
        if lane:
            self._places.stand(now, lane)
        else:
            self._places.empty(lane)

    def empty_buckets(self, now: float) -> None:
        """A leader begins to count: it has no tokens for what was handed out before, nor any left over."""
        self._roster.empty_buckets(now)

    def hold(self, now: float, *, seq: int, tenant: int, host: str, arrives_at: float | None) -> None:
        """An entry that a former leader handed out: it is load, whatever the limits say. Its request is at its host at
        `arrives_at` or sooner; None: it was not claimed yet.
        """
        self._loads.hold(now, seq, self._roster.tenant(tenant), self._roster.host(host), arrives_at=arrives_at)

    def claimed(self, now: float, seq: int, *, at: float) -> None:
        """A worker claimed the entry, `at` a time that may have passed: so its token is spent since then, and not set
        aside any more. KeyError if it is not outstanding.
        """
        self._loads.claimed(now, seq, at=at)

    def ask(self, now: float, *, seq: int, host: str) -> None:
        """An entry that runs was redirected: it has let go of its host and waits for a permit at `host`, behind those
        that wait there for one already, before all jobs. KeyError if it is not outstanding.
        """
        self._loads.ask(now, seq, host)

    def permit(self, now: float) -> list[int]:
        """The entries for which there is room at the host where they ask; from now on they are load there."""
        return self._loads.permit(now)

    def pick(self, now: float, n: int) -> list[int]:
        """At most `n` entries that may start now, in the order of their turns; from now on they are load."""
        self._waiting.ring(now)
        self._roster.drop_rested_hosts(now)
        picked: list[int] = []
        while len(picked) < n:
            queue = self._queues.choose()
            if queue is None:
                break
            lane = self._next_lane(now, queue)
            if lane is not None:  # else the whole queue was blocked: the others share its turns
                picked.append(self._start(now, lane))
                self._queues.charge(queue)
        self._waiting.pick_ends()
        return picked

    def finish(self, now: float, seq: int) -> None:
        """The entry's lease or ready row is gone. KeyError if it was not outstanding."""
        self._loads.finish(now, seq)

    def give_back(self, now: float, seq: int) -> None:
        """The entry was never claimed: slot, token and turn are given back. KeyError if it was not outstanding.

        It is not queued again: `add` it if it shall be.
        """
        self._loads.give_back(now, seq)

    def entries(self) -> Iterator[tuple[int, LaneKey]]:
        """What is held, with the lane that holds it. What comes or goes meanwhile may be met or not."""
        for key in list(self._lanes):
            if lane := self._lanes.get(key):
                yield from ((seq, key) for seq in [*lane.head, *lane.tail])

    def forget(self, now: float, key: LaneKey, gone: Container[int]) -> None:
        """Entries of a lane that are queued no more; those that it does not hold are no matter."""
        lane = self._lanes.get(key)
        if lane:
            self._windows.lost(lane, lane.remove(gone))
            if lane.promises or not lane:
                self._places.withdraw(now, lane)
                self._loads.host_changed(now, lane.host)

    # ---- what operators and targets change; all of it holds at once, also for what is queued

    def close_host(self, now: float, host: str, until: float) -> None:
        """Nothing starts at `host` before `until` (pause, Retry-After, circuit); `until <= now` opens it."""
        place = self._roster.host(host)
        place.gate.closed_until = until
        self._loads.host_changed(now, place)

    def set_host_limits(self, now: float, host: str, limits: HostLimits) -> None:
        """New limits; the bucket keeps its level as far as the new burst holds it. (FR-11)"""
        place = self._roster.hosts.get(host)
        if place is not None:
            place.gate.change(now, limits)
            self._loads.host_changed(now, place)

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
            self._queues.resume(owner)

    # ---- the choice

    def _next_lane(self, now: float, queue: int) -> Lane | None:
        """The lane whose turn it is in `queue`; parks the blocked ones that it meets, once each."""
        while (flow := self._queues.first(queue)) is not None:
            if flow.tenant.running < flow.tenant.max_running:
                while (lane := flow.take_lane()) is not None:
                    if lane.host.has_room_for(now, lane):
                        return lane
                    self._waiting.park(now, lane)
            self._queues.drop_first(flow)
        return None

    def _start(self, now: float, lane: Lane) -> int:
        """Hand out the first entry of `lane`, charge everyone, and find the lane its next place."""
        flow, host = lane.flow, lane.host
        seq = lane.pop()
        self._windows.lost(lane, 1)
        self._loads.start(seq, flow, host)
        flow.prefer_woken = not lane.promises
        if host.line is not None and lane.promises:
            host.line.redeem(lane)
            if lane.promises and flow.woken is not None:
                flow.woken.append(lane)
        self._places.stand(now, lane)
        self._queues.charge_first(flow)
        if not lane:
            self._places.empty(lane)
        if host.line is not None:
            self._waiting.wake(now, host, host.line)
        self._loads.respect_maximum(now, flow.tenant)
        if self._queues.has_resting(flow.queue):
            self._places.forget_rested(flow.queue)
        return seq

    def _lane(self, priority: int, tenant: int, host: str) -> Lane:
        lane = self._lanes.get((priority, tenant, host))  # an empty one is false
        return self._roster.make_lane(priority, tenant, host) if lane is None else lane

    def _reprice(self, tenant: Tenant, factor: float) -> None:
        """The tenant's turns cost so many times as much as before, at once and wherever it waits."""
        self._queues.reprice(tenant, factor)
        for lane in self._lanes.values():
            if lane.flow.tenant is tenant and lane.host.line is not None:
                lane.host.line.queues[lane.flow.queue].reprice(lane, factor)
