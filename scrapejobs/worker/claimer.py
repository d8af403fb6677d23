"""Takes jobs from ready for free slots and carries each through one attempt."""

import asyncio
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import psycopg

from scrapejobs.domain.outcome import Cancelled, Outcome, Released, Stored, Temporary
from scrapejobs.domain.politeness import SEND_WITHIN_S
from scrapejobs.store import transitions
from scrapejobs.store.link import Link
from scrapejobs.store.orphans import orphans
from scrapejobs.store.reports import ended
from scrapejobs.telemetry import events
from scrapejobs.worker.reporter import Reporter
from scrapejobs.worker.runner import Runner
from scrapejobs.worker.slots import Break, Held, Slots

REPORT_S: Final = 5.0


class Claimer:
    """Claims as many jobs as there are free slots. Draining, it claims none (P8)."""

    name = "claimer"
    wakes_on = frozenset({"ready", "slot"})

    def __init__(
        self,
        link: Link,
        slots: Slots,
        runner: Runner,
        reporter: Reporter,
        *,
        worker_id: UUID,
        worker: str,
        lease_s: float,
        poll_s: float,
        signal: Callable[[str], None],
    ) -> None:
        self._link = link
        self._slots = slots
        self._runner = runner
        self._reporter = reporter
        self._worker_id = worker_id
        self._worker = worker
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._signal = signal
        self.draining = False

    async def tick(self) -> float:
        free = self._slots.free
        if free <= 0 or self.draining:
            return self._poll_s
        asked = self._slots.clock()
        rows = await self._link.run(
            transitions.claim(worker_id=self._worker_id, worker=self._worker, limit=free, lease_s=self._lease_s)
        )
        for row in rows:
            row["send_by"] = asked + SEND_WITHIN_S
            held = Held(row, ends_at=asked + self._lease_s, deadline_at=self._slots.clock() + row["remaining_s"])
            self._slots.held[held.seq] = held
            held.task = asyncio.create_task(self._attempt(held), name=f"attempt-{held.seq}")
        return self._poll_s

    async def drain(self, *, grace_s: float, report_s: float = REPORT_S) -> None:
        """Claims no more; lets what runs finish, and hands the rest back in time for that to be told within `grace_s`
        (P8), or in half of it if it is short. What cannot be told within `report_s`, because the database is away, is
        left to the sweeper.
        """
        self.draining = True
        events.worker_draining(len(self._slots.held))
        if await self._empty_within(max(grace_s - report_s, grace_s / 2)):
            return
        for held in self._slots.fetching():
            held.break_off(Break.DRAINED)
        await self._empty_within(report_s)

    async def _empty_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._slots.empty()
        except TimeoutError:
            return False
        return True

    async def _attempt(self, held: Held) -> None:
        held.started = True
        try:
            outcome = await self._outcome(held)
            if outcome is not None:
                held.reporting = True
                self._signal("slot")
                await self._conclude(held, outcome)
        finally:
            del self._slots.held[held.seq]
            self._signal("slot")

    async def _outcome(self, held: Held) -> Outcome | None:
        """How the attempt ended; None when its lease is gone and there is nothing to say.

        What is handed back though another worker may have the job by now, the fence keeps from having an effect.
        """
        row = held.claimed
        if held.broken is not None:  # before its first step
            return _broken_off(held, sent=False)
        if self._slots.clock() >= held.ends_at:  # stood still since the claim: somebody else may have the job
            events.lease_lost(held.seq)
            return Released(sent=False)
        if self.draining:  # claimed while the signal came
            return Released(sent=False)
        events.attempt_started(row["job_id"], held.seq, number=row["number"], host=row["host"])
        if row["is_first"]:
            events.first_attempt((row["started_at"] - row["created_at"]).total_seconds())
        try:
            return await self._runner.run(row)
        except asyncio.CancelledError:
            return _broken_off(held, sent=True)
        except Exception as error:  # noqa: BLE001 - one job must not take the worker with it (case S16)
            events.loop_failed("attempt", error)
            return Temporary("worker_error", f"the worker failed: {type(error).__name__}")

    async def _conclude(self, held: Held, outcome: Outcome) -> None:
        remaining_s = held.deadline_at - self._slots.clock()
        row = await self._reporter.tell(ended(held.claimed | {"remaining_s": remaining_s}, outcome))
        _narrate(held, outcome, row)
        if isinstance(outcome, Stored) and (row is None or not row["applied"]):
            await self._forget(outcome.result.key)

    async def _forget(self, key: str) -> None:
        """Removes the object of a report that had no effect. The database says whether it is nobody's: the report
        may have been applied before, and only its answer was lost. What cannot be asked now, the scheduler finds.
        """
        try:
            if key in (await self._link.run(orphans([key]))).orphans:
                await self._runner.forget(key)
        except psycopg.OperationalError as error:
            events.loop_failed("forget", error)


def _broken_off(held: Held, *, sent: bool) -> Outcome | None:
    match held.broken:
        case Break.CANCELLED:
            return Cancelled()
        case Break.DRAINED | Break.UNRENEWED:
            return Released(sent=sent)
        case Break.LOST:
            return None
        case None:
            raise asyncio.CancelledError


def _narrate(held: Held, outcome: Outcome, row: dict[str, Any] | None) -> None:
    exchange = getattr(outcome, "exchange", None)
    events.attempt_ended(
        held.job_id,
        held.seq,
        outcome=type(outcome).__name__.lower(),
        code=getattr(outcome, "code", None),
        elapsed_s=exchange.elapsed_s if exchange else 0.0,
        bytes=exchange.bytes_read if exchange else 0,
    )
    if row is None:
        events.report_fenced(held.job_id, held.seq)
    elif not row["applied"]:
        events.cancel_obeyed(held.job_id)
