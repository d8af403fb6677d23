"""Dispatchers for tests, with clocks that can be set forward, and what happens around them."""

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.circuit import CircuitPolicy
from scrapejobs.domain.picking import HostLimits
from scrapejobs.scheduler.dispatcher import Dispatcher
from scrapejobs.scheduler.term import Pace
from scrapejobs.store import transitions
from scrapejobs.store.link import Link
from scrapejobs.store.reports import ended
from scrapejobs.store.run import run_async
from tests.integration.factories import WORKER, Conn, tell

PACE = Pace(lease_s=3600.0, ready_ttl_s=2.0, alive_s=30.0, poll_s=5.0)
WIDE = HostLimits(1e6, 1e6, 1000)
CIRCUIT = CircuitPolicy(error_threshold=3, success_threshold=2, timeout_s=60.0)


class Scheduler:
    """A dispatcher with links of its own and a clock that can be set forward."""

    def __init__(
        self, url: str, bus: Bus, *, default: HostLimits = WIDE, name: str = "a", learns: bool = False
    ) -> None:
        circuit = replace(CIRCUIT, learns=learns)
        self.ahead_s = 0.0
        self.links = [Link(url), Link(url)]
        self.loop = Dispatcher(
            *self.links, bus, holder=name, default=default, circuit=circuit, pace=PACE, clock=self._clock
        )

    def _clock(self) -> float:
        return asyncio.get_running_loop().time() + self.ahead_s

    async def tick(self, *, after_s: float = 0.0) -> float:
        self.ahead_s += after_s
        return await self.loop.tick()

    async def close(self) -> None:
        await self.loop.aclose()
        for link in self.links:
            await link.aclose()


class Schedulers:
    def __init__(self, url: str, bus: Bus) -> None:
        self._url, self._bus = url, bus
        self.made: list[Scheduler] = []

    def __call__(self, **options: Any) -> Scheduler:
        self.made.append(Scheduler(self._url, self._bus, **options))
        return self.made[-1]


async def take_lease_away(conn: Conn) -> None:
    """The leader's lease runs out in the database, as when it is stopped for long."""
    await conn.execute("UPDATE dispatcher SET expires_at = clock_timestamp() - interval '1 second'")


async def claim(conn: Conn, n: int, *, worker_id: UUID = WORKER) -> list[dict[str, Any]]:
    return await run_async(conn, transitions.claim(worker_id=worker_id, worker="w", limit=n, lease_s=30.0))


async def end(conn: Conn, row: dict[str, Any], outcome: Any) -> None:
    await run_async(conn, tell(ended(row, outcome)))
