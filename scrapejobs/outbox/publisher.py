"""The outbox at intake's end: what was accepted goes into its queue (NFR-3)."""

from typing import Final

from scrapejobs.adapters.bus import Bus
from scrapejobs.store import transitions
from scrapejobs.store.link import Link
from scrapejobs.telemetry import events

BATCH: Final = 1000


class Publisher:
    """Moves unpublished jobs into their queues. Safe to run many times over: rows under way elsewhere are skipped."""

    name = "publisher"
    wakes_on = frozenset({"submitted"})

    def __init__(self, link: Link, bus: Bus, *, poll_s: float) -> None:
        self._link = link
        self._bus = bus
        self._poll_s = poll_s

    async def tick(self) -> float:
        n = await self._link.run(transitions.publish(limit=BATCH))
        if n:
            events.jobs_published(n)
            await self._bus.wake("queued")
        return 0.0 if n == BATCH else self._poll_s
