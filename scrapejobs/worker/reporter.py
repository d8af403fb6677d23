"""Tells the store how attempts ended, many in one statement. What could not be told is kept and told again."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from scrapejobs.adapters.bus import Bus, Topic
from scrapejobs.store import transitions
from scrapejobs.store.link import Link
from scrapejobs.store.reports import Ended, ReportVerb, tell_all
from scrapejobs.store.run import Row
from scrapejobs.telemetry import events

MOST_AT_ONCE: Final = 200
BUSY_REST_S: Final = 0.2


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
        ends = [ended for ended, _ in batch.values()]
        rows = await tell_all(self._link, self._report, ends, on_error=partial(events.loop_failed, self.name))
        busy = {seq for seq, row in rows.items() if row["is_busy"]}
        for seq, (_, answer) in batch.items():
            one = self._pending.pop(seq)
            if seq in busy:
                self._pending[seq] = one  # behind the others
            elif not answer.done():
                answer.set_result(rows.get(seq))
        told = [row for seq, row in rows.items() if seq not in busy]
        if paused := {row["paused_host"] for row in told if row["paused_host"]}:
            await self._link.run(transitions.hold_back(sorted(paused)))
        await self._wake(told)
        if len(self._pending) > len(busy):
            return 0.0
        return BUSY_REST_S if busy else self._poll_s

    async def _wake(self, rows: Sequence[Row]) -> None:
        topics: list[Topic] = ["queued"]
        if any(row["final_state"] for row in rows):
            topics.append("finished")
        if any(row["final_state"] is None for row in rows):
            topics.append("delayed")
        await self._bus.wake(*topics)
