"""One leader's time: what it has read so far, and the picker that it fills from that (docs/picking.md)."""

import asyncio
import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.picking import Picker
from scrapejobs.domain.politeness import START_S
from scrapejobs.scheduler.crowd import Crowd
from scrapejobs.scheduler.dispatch_lease import DispatchLease, LeaseLost
from scrapejobs.scheduler.forgetting import Forgetting
from scrapejobs.scheduler.permitting import Permitting
from scrapejobs.scheduler.rules import RELOAD_S, Rules
from scrapejobs.scheduler.turnover import Turnover
from scrapejobs.store import dispatch
from scrapejobs.store.link import Link
from scrapejobs.telemetry import events

WINDOW: Final = 64
"""Entries of a lane that are held at first: a queue of millions is not held in memory (docs/picking.md)."""
LANES_AT_ONCE: Final = 500
MOST_AT_ONCE: Final = 1000
LOOK_S: Final = 0.01
"""How soon it looks again whether what it made ready was claimed, for until then its tokens are set aside; and not
sooner than that while ready holds more than the free slots can take, to look less often and move more at once."""
TIDY_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things may last, in seconds."""

    lease_s: float
    ready_ttl_s: float
    alive_s: float
    poll_s: float


class Term:
    """One leader's time: its picker, and what it has read so far."""

    def __init__(
        self,
        link: Link,
        durable: Link,
        bus: Bus,
        lease: DispatchLease,
        *,
        rules: Rules,
        pace: Pace,
        clock: Callable[[], float],
    ) -> None:
        self._link = link
        self._bus = bus
        self._rules = rules
        self._pace = pace
        self._clock = clock
        self.lease = lease
        self.epoch = lease.epoch
        self._snapshot = ""
        self._last_pos: int | None = None
        self._waiting = 0
        self._is_stocked = False
        self._began_at = self._tidied_at = clock()
        self.picker = Picker(
            limits_of=rules.limits_of,
            share_of=rules.share_of,
            closed_until_of=rules.closed_until_of,
            cold_start_at=clock(),
            window=WINDOW,
        )
        self._forgetting = Forgetting(link, self.picker, clock=clock)
        self._turnover = Turnover(now=clock())
        self._crowd = Crowd(link, self.picker, epoch=self.epoch, clock=clock)
        self._permitting = Permitting(durable, bus, self.picker, lease, clock=clock)

    async def rebuild(self) -> int:
        """Reads the heads of what waits, and all that runs. The cycle collector would walk hundreds of thousands of
        small objects again and again, so it is off meanwhile. How many entries wait.
        """
        n_queued = 0
        gc.disable()
        try:
            await self._rules.read(self.picker)
            self._snapshot = await self._link.run(dispatch.snapshot())
            async for rows in dispatch.every_lane(await self._link.conn(), window=WINDOW):
                self.lease.check()
                self._add_lanes(rows)
                n_queued += sum(row["n"] for row in rows)
                self._snapshot = rows[0]["snapshot"]
                await asyncio.sleep(0)
            held = await self._link.run(dispatch.held())
            self._hold(held)
        finally:
            gc.enable()
        return n_queued

    def _hold(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """What former leaders handed out. All that was claimed longer ago is at its host by now, whatever it was: from
        now on this leader counts, with empty buckets.
        """
        now = self._clock()
        self.picker.empty_buckets(now)
        for row in rows:
            arrives_at = None if row["age_s"] is None else now - row["age_s"] + START_S
            self.picker.hold(now, seq=row["seq"], tenant=row["tenant_id"], host=row["host"], arrives_at=arrives_at)

    async def tick(self) -> float:
        if self._is_stocked:
            await asyncio.sleep(self._began_at + LOOK_S - self._clock())
        self._began_at = self._clock()
        self.lease.check()
        await self._read_appended()
        await self._forgetting.step()
        n_out = len(self.picker.outstanding)
        free = await self._learn_what_ended()
        n_ended = n_out - len(self.picker.outstanding)
        self._turnover.ended(n_ended, now=self._clock())
        if n_ended or self.picker.queued or self.picker.asking:
            await self._rules.refresh(self.picker, something_ended=n_ended > 0)
        await self._permitting.step()
        wanted = min(max(free + self._turnover.soon(), 0), MOST_AT_ONCE)
        moved = await self._dispatch(wanted) if wanted and self.picker.queued else 0
        self._is_stocked = self._waiting > max(free, 0)
        await self._crowd.step()
        return self._rest(moved, wanted)

    def _rest(self, moved: int, wanted: int) -> float:
        """Seconds until the next pass, unless a wake-up comes first (an append, an ended attempt, a new worker).
        While no slot is free, a host whose time has come is nothing to get up for.
        """
        if (moved and moved == wanted) or self.picker.wanted(1):
            return 0.0
        rest = self._pace.poll_s
        if self._waiting or moved:
            rest = min(rest, self._pace.ready_ttl_s / 2)
        if self.picker.queued or self.picker.asking:
            rest = min(rest, LOOK_S if self.picker.unclaimed and moved < wanted else RELOAD_S)
        if self.picker.asking:
            rest = min(rest, max(self.picker.next_permit(self._clock()) - self._clock(), 0.001))
        if moved < wanted:
            rest = min(rest, max(self.picker.next_timer() - self._clock(), 0.001))
        return rest

    # ---- what has happened since the last look

    async def _read_appended(self) -> None:
        wanted = self.picker.wanted(LANES_AT_ONCE)
        appended = await self._link.run(dispatch.appended(since=self._snapshot, wanted=wanted))
        self._add(appended.entries)
        for lane, seqs, has_more in appended.heads:
            self._refill(lane.priority, lane.tenant, lane.host, seqs, has_more=has_more)
        self._snapshot = appended.snapshot

    def _add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        now = self._clock()
        for row in rows:
            self.picker.add(
                now,
                seq=row["seq"],
                priority=row["priority"],
                tenant=row["tenant_id"],
                host=row["host"],
                front=row["front"],
            )

    def _add_lanes(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            if row["front"]:
                self._add({**row, "seq": seq} for seq in row["seqs"])
            else:
                has_more = row["n"] > len(row["seqs"])
                self._refill(row["priority"], row["tenant_id"], row["host"], row["seqs"], has_more=has_more)

    def _refill(self, priority: int, tenant: int, host: str, seqs: Sequence[int], *, has_more: bool) -> None:
        self.picker.refill(self._clock(), priority=priority, tenant=tenant, host=host, seqs=seqs, has_more=has_more)

    async def _learn_what_ended(self) -> int:
        """Forgets what has ended, hears who asks for a permit; how many slots of live workers are free for more than
        waits in ready.
        """
        seqs = list(self.picker.outstanding)
        state = await self._link.run(dispatch.outstanding(seqs, alive_s=self._pace.alive_s, known=self.picker.asking))
        self._waiting, now = state.waiting, self._clock()
        for seq in seqs:
            if seq not in state.seqs:
                self.picker.finish(now, seq)
        for seq in self.picker.unclaimed & state.claimed.keys():
            self.picker.claimed(now, seq, at=now - state.claimed[seq] + START_S)
        self._permitting.hear(state.asks)
        await self._tidy(state.lowest_pos)
        return state.free - self._waiting

    async def _tidy(self, lowest_pos: int | None) -> None:
        """Ready rows that no worker took in time give their slot and token back, and wait in their queue again; claims
        are told where to begin. Both bear some lateness.
        """
        now = self._clock()
        if now - self._tidied_at < TIDY_S:
            return
        self._tidied_at = now
        if self._waiting:
            back = await self._link.run(dispatch.take_back(epoch=self.epoch, ready_ttl_s=self._pace.ready_ttl_s))
            for seq in back:
                self.picker.give_back(now, seq)
            self._waiting -= len(back)
            if back:
                events.ready_taken_back(len(back))
        floor = lowest_pos or (self._last_pos + 1 if self._last_pos is not None else None)
        if floor is not None:
            await self._link.run(dispatch.set_floor(floor))
            self._last_pos = None if lowest_pos is None else self._last_pos

    # ---- the move

    async def _dispatch(self, n: int) -> int:
        now = self._clock()
        picked = self.picker.pick(now, n)
        if not picked:
            return 0
        self.lease.check()
        done = await self._link.run(dispatch.dispatch(picked, epoch=self.epoch))
        if not done.leads:
            raise LeaseLost
        for seq in picked:
            if seq not in done.moved:  # cancelled meanwhile
                self.picker.give_back(now, seq)
        if done.moved:
            self._last_pos = done.last_pos
            self._waiting += len(done.moved)
            events.dispatched(len(done.moved))
            await self._bus.wake("ready")
        return len(done.moved)
