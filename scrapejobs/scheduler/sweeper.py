"""Brings back what fell out: expired leases (P9), retries whose time has come, jobs past their deadline."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.outcome import Lost
from scrapejobs.store import transitions, upkeep
from scrapejobs.store.link import Link
from scrapejobs.store.reports import ReportVerb, ended, tell_all
from scrapejobs.store.run import Row
from scrapejobs.telemetry import events

BATCH: Final = 500


class Sweeper:
    """Reports expired leases as lost and fails overdue jobs. Holds no slot and is safe to run twice (case S11).

    After a silence (the database was away, or this process stood still) an expired lease proves nothing: its worker
    could not renew or report either. So the living get `recovery_s` first: the longest back-off of a loop, and one
    renewal's time. By default settings, in seconds:

    - A silence is half a renewal more than the rest between two passes: 5 + 6.7 / 2 = 8.3. After a shorter one the
      lease of a living worker has 20 - 6.7 - 8.3 = 5 left, and a loop backs off for 2 at most.
    - With no silence a lost worker's lease is swept 20 + 5 = 25 after its last renewal: 5 are left to start elsewhere
      (P9). A sweeper that has just started sweeps at once, unless its first look takes so long.
    """

    name = "sweeper"
    wakes_on: frozenset[str] = frozenset()

    def __init__(
        self,
        link: Link,
        bus: Bus,
        *,
        report: ReportVerb,
        sweep_s: float,
        renew_s: float,
        recovery_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._bus = bus
        self._report = report
        self._sweep_s = sweep_s
        self._silence_s = sweep_s + renew_s / 2
        self._recovery_s = recovery_s
        self._clock = clock
        self._heard_at = self._sweep_at = clock()

    async def tick(self) -> float:
        rows = await self._link.run(upkeep.expired(limit=BATCH))
        patience_s = self._patience_s()
        full = patience_s <= 0 and await self._sweep(rows)
        full |= await self._expire()
        self._heard_at = self._clock()
        if full:
            return 0.0
        return min(patience_s, self._sweep_s) if patience_s > 0 else self._sweep_s

    def _patience_s(self) -> float:
        """How long the living still have to renew and report, now that the database has answered."""
        now = self._clock()
        if now - self._heard_at > self._silence_s:
            self._sweep_at = now + self._recovery_s
        self._heard_at = now
        return self._sweep_at - now

    async def _sweep(self, rows: list[Row]) -> bool:
        if not rows:
            return False
        lost = [ended(row, Lost(), expired_only=True) for row in rows]
        told = await tell_all(self._link, self._report, lost, on_error=partial(events.loop_failed, self.name))
        swept = {seq: row for seq, row in told.items() if not row["is_busy"]}
        if swept:
            events.leases_swept(len(swept))
            for seq, row in swept.items():
                events.attempt_ended(row["job_id"], seq, outcome="lost")
            await self._bus.wake("queued")
            await self._bus.wake("finished")
        return bool(swept) and len(rows) == BATCH

    async def _expire(self) -> bool:
        due = await self._link.run(upkeep.overdue(limit=BATCH))
        expired = [job_id for job_id in due if await self._link.run(transitions.expire(job_id))]
        if expired:
            events.jobs_expired(len(expired))
            await self._bus.wake("finished")
        return bool(expired) and len(due) == BATCH


class Promoter:
    """Puts delayed retries back into their queues when their time has come."""

    name = "promoter"
    wakes_on = frozenset({"delayed"})

    def __init__(self, link: Link, bus: Bus, *, sweep_s: float) -> None:
        self._link = link
        self._bus = bus
        self._sweep_s = sweep_s

    async def tick(self) -> float:
        n = await self._link.run(transitions.promote(limit=BATCH))
        if n:
            events.retries_promoted(n)
            await self._bus.wake("queued")
        if n == BATCH:
            return 0.0
        next_s = await self._link.run(upkeep.next_retry_s())
        return self._sweep_s if next_s is None else min(max(next_s, 0.005), self._sweep_s)
