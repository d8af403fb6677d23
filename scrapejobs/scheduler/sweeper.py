"""Brings back what fell out: expired leases (P9), retries whose time has come, jobs past their deadline."""

from functools import partial
from typing import Final

from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.outcome import Lost
from scrapejobs.store import transitions, upkeep
from scrapejobs.store.link import Link
from scrapejobs.store.reports import ReportVerb, ended, tell_all
from scrapejobs.telemetry import events

BATCH: Final = 500


class Sweeper:
    """Reports expired leases as lost and fails overdue jobs. Holds no slot and is safe to run twice (case S11)."""

    name = "sweeper"
    wakes_on: frozenset[str] = frozenset()

    def __init__(self, link: Link, bus: Bus, *, report: ReportVerb, sweep_s: float) -> None:
        self._link = link
        self._bus = bus
        self._report = report
        self._sweep_s = sweep_s

    async def tick(self) -> float:
        full = await self._sweep()
        full |= await self._expire()
        return 0.0 if full else self._sweep_s

    async def _sweep(self) -> bool:
        rows = await self._link.run(upkeep.expired(limit=BATCH))
        if not rows:
            return False
        lost = [ended(row, Lost(), expired_only=True) for row in rows]
        swept = await tell_all(self._link, self._report, lost, on_error=partial(events.loop_failed, self.name))
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
