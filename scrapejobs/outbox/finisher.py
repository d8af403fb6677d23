"""The outbox at the other end: each final job gets its one finish event (P6)."""

from typing import Final

from scrapejobs.adapters.bus import Bus
from scrapejobs.store import upkeep
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.telemetry import events

BATCH: Final = 500


class Finisher:
    """Writes finish events, and the deliveries they call for."""

    name = "finisher"
    wakes_on = frozenset({"finished"})

    def __init__(self, link: Link, bus: Bus, *, poll_s: float) -> None:
        self._link = link
        self._bus = bus
        self._poll_s = poll_s

    async def tick(self) -> float:
        rows = await self._link.run(upkeep.finish([new_id() for _ in range(BATCH)]))
        for row in rows:  # here each job that became final is met once, however it did
            failed = row["final_state"] == "failed"
            events.job_settled(row["id"], row["final_state"], row["error_code"] if failed else None)
        if rows:
            events.finish_published(len(rows))
            events.stale_answers(await self._bus.finished({row["id"]: row["tenant_id"] for row in rows}))
        if any(row["has_callback"] for row in rows):
            await self._bus.wake("delivery")
        return 0.0 if len(rows) == BATCH else self._poll_s
