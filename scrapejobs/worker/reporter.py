"""Tells the store how attempts ended, many in one statement. What could not be told is kept and told again."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import psycopg

from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.outcome import Temporary
from scrapejobs.store.link import Link
from scrapejobs.store.reports import Ended, ReportVerb
from scrapejobs.store.run import Row
from scrapejobs.telemetry import events

MOST_AT_ONCE: Final = 200


class Reporter:
    """Collects ended attempts and reports them. A tick that fails leaves them where they are for the next."""

    name = "reporter"
    wakes_on = frozenset({"report"})

    def __init__(
        self, link: Link, bus: Bus, *, report: ReportVerb, signal: Callable[[str], None], poll_s: float
    ) -> None:
        self._link = link
        self._bus = bus
        self._report = report
        self._signal = signal
        self._poll_s = poll_s
        self._pending: dict[int, tuple[Ended, asyncio.Future[Row | None]]] = {}

    async def tell(self, ended: Ended) -> Row | None:
        """The row of `lease/report.sql` for this attempt, or None when its lease was lost and nothing changed."""
        answer: asyncio.Future[Row | None] = asyncio.get_running_loop().create_future()
        self._pending[ended.seq] = (ended, answer)
        self._signal("report")
        return await answer

    async def tick(self) -> float:
        batch = dict(list(self._pending.items())[:MOST_AT_ONCE])
        if not batch:
            return self._poll_s
        rows = await self._tell_all([ended for ended, _ in batch.values()])
        for seq, (_, answer) in batch.items():
            del self._pending[seq]
            if not answer.done():
                answer.set_result(rows.get(seq))
        await self._bus.wake("queued")
        if any(row["final_state"] for row in rows.values()):
            await self._bus.wake("finished")
        if any(row["final_state"] is None for row in rows.values()):
            await self._bus.wake("delayed")
        return 0.0 if self._pending else self._poll_s

    async def _tell_all(self, attempts: Sequence[Ended]) -> dict[int, Row]:
        """Reports attempts in one statement. If one cannot be told at all (a bug, such as a text that Postgres
        refuses), each is told alone, and that one as a failure of ours (case S16).
        """
        try:
            return await self._link.run(self._report(attempts))
        except psycopg.OperationalError:
            raise  # the surroundings: all of them are told again
        except Exception as error:  # noqa: BLE001 - one job must not take the worker with it
            if len(attempts) > 1:
                return {seq: row for one in attempts for seq, row in (await self._tell_all([one])).items()}
            events.loop_failed(self.name, error)
            fault = Temporary("worker_error", f"the attempt could not be reported: {type(error).__name__}")
            return await self._link.run(self._report([replace(attempts[0], outcome=fault)]))
