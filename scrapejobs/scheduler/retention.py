"""Day partitions: made ahead, and dropped with their day's objects when retention has passed (NFR-9)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from typing import Final, Protocol

from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable
from psycopg.rows import DictRow

from scrapejobs.store import circuits, clock, deliveries, endpoints, partitions, upkeep
from scrapejobs.store.link import Link
from scrapejobs.store.resealing import erase_failed
from scrapejobs.store.run import run_async
from scrapejobs.telemetry import events

PERIOD_S: Final = 3600.0
AGAIN_S: Final = 60.0
LOCK_TIMEOUT: Final = "SET LOCAL lock_timeout = '100ms'"
"""To make or drop a partition takes its table alone. While that waits for somebody's long transaction (a backup), all
others wait behind it, intake too: so not for long, and not often (NFR-2).
"""
RECEIPTS: Final = 5000
SECRETS: Final = 500


class Objects(Protocol):
    """The part of the object store that retention needs."""

    def delete_prefix(self, prefix: str) -> int: ...


class Retention:
    """Once an hour: partitions ahead, old days away (objects before rows), old receipts, old secrets, lost services."""

    name = "retention"
    wakes_on: frozenset[str] = frozenset()

    def __init__(
        self,
        link: Link,
        objects: Objects,
        *,
        keep_days: int,
        ahead_days: int,
        receipt_ttl_s: float,
        secrets_s: float,
    ) -> None:
        self._link = link
        self._objects = objects
        self._keep = timedelta(days=keep_days)
        self._ahead_days = ahead_days
        self._receipt_ttl_s = receipt_ttl_s
        self._secrets_s = secrets_s

    async def tick(self) -> float:
        is_kept = await self._keep_partitions()
        while await self._link.run(upkeep.expire_receipts(ttl_s=self._receipt_ttl_s, limit=RECEIPTS)) == RECEIPTS:
            pass
        while await self._link.run(erase_failed(older_s=self._secrets_s, limit=SECRETS)) == SECRETS:
            pass
        await self._link.run(upkeep.forget_services(after_s=PERIOD_S))
        await self._link.run(upkeep.forget_usage(keep_s=self._keep.total_seconds()))
        await self._link.run(upkeep.forget_hosts())
        await self._link.run(circuits.forget(keep_s=self._keep.total_seconds()))
        await self._link.run(endpoints.forget(keep_s=self._keep.total_seconds()))
        return PERIOD_S if is_kept else AGAIN_S

    async def _keep_partitions(self) -> bool:
        """False when somebody's lock was in the way: there are days enough ahead to try again later."""
        try:
            await self._make_partitions()
            await self._drop_old_days()
        except LockNotAvailable as error:
            events.loop_failed(self.name, error)
            return False
        return True

    async def _make_partitions(self) -> None:
        before = await self._link.run(partitions.days())
        for statement in partitions.create_statements(await self._link.run(clock.today()), days_ahead=self._ahead_days):
            await self._alter(statement)
        after = await self._link.run(partitions.days())
        if len(after) > len(before):
            events.partition_created(len(after) - len(before))

    async def _drop_old_days(self) -> None:
        """A day goes when all of its jobs are final; one that is not (a late requeue) keeps its day a while longer."""
        kept_from = await self._link.run(clock.today()) - self._keep
        for day in await self._link.run(partitions.days()):
            if day >= kept_from:
                break
            if await self._link.run(partitions.has_unfinished(day)):
                continue
            await asyncio.to_thread(self._objects.delete_prefix, f"{day.isoformat()}/")
            if await self._drop(day):
                await self._link.run(deliveries.forget_deliveries(day))
                events.partition_dropped(day)

    async def _drop(self, day: date) -> bool:
        """Drops a day, unless one of its jobs was requeued since it was looked at: under this lock none can be."""
        async with self._altering() as conn:
            await conn.execute(partitions.LOCK_JOBS)
            if await run_async(conn, partitions.has_unfinished(day)):
                return False
            for statement in partitions.drop_statements(day):
                await conn.execute(statement)
            return True

    async def _alter(self, statement: str) -> None:
        async with self._altering() as conn:
            await conn.execute(statement)

    @asynccontextmanager
    async def _altering(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        conn = await self._link.conn()
        async with conn.transaction():
            await conn.execute(LOCK_TIMEOUT)
            yield conn
