"""Tells who waits that jobs have ended: as the bus says, and by a look at their rows in case it did not."""

import asyncio
from typing import Final
from uuid import UUID

import psycopg

from scrapejobs.adapters.bus import Bus
from scrapejobs.gateway.waiting import Waits, of_job
from scrapejobs.store.jobs import ended
from scrapejobs.store.link import Link
from scrapejobs.telemetry import events

LOOK_EVERY_S: Final = 2.0
MOST_AT_ONCE: Final = 5_000
_JOB: Final = of_job("")


class Ends:
    """Runs beside the front, in its event loop."""

    def __init__(self, waits: Waits, *, database_url: str, redis_url: str) -> None:
        self._waits = waits
        self._link = Link(database_url, durable=False)
        self._bus = Bus(
            redis_url,
            on_wake=lambda _: None,
            on_finished=waits.tell,
            on_change=lambda _: waits.tell_all(),
        )

    async def run(self) -> None:
        """Until cancelled."""
        await asyncio.gather(self._bus.listen(), self._look())

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            ids = [UUID(topic.removeprefix(_JOB)) for topic in self._waits.topics if topic.startswith(_JOB)]
            try:
                for first in range(0, len(ids), MOST_AT_ONCE):
                    found = await self._link.run(ended(ids[first : first + MOST_AT_ONCE]))
                    self._waits.tell(map(of_job, found))
            except psycopg.Error as error:
                events.loop_failed("ends", error)

    async def aclose(self) -> None:
        await self._link.aclose()
        await self._bus.aclose()
