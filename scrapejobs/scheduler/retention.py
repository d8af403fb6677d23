"""Day partitions: made ahead, and dropped with their day's objects when retention has passed (NFR-9)."""

import asyncio
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Final, Protocol

from scrapejobs.store import deliveries, partitions, upkeep
from scrapejobs.store.link import Link
from scrapejobs.telemetry import events

PERIOD_S: Final = 3600.0
RECEIPTS: Final = 5000


class Objects(Protocol):
    """The part of the object store that retention needs."""

    def delete_prefix(self, prefix: str) -> int: ...


def today_utc() -> date:
    return datetime.now(UTC).date()


class Retention:
    """Once an hour: partitions ahead, old days away (objects before rows), old receipts, silent services."""

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
        today: Callable[[], date] = today_utc,
    ) -> None:
        self._link = link
        self._objects = objects
        self._keep = timedelta(days=keep_days)
        self._ahead_days = ahead_days
        self._receipt_ttl_s = receipt_ttl_s
        self._today = today

    async def tick(self) -> float:
        await self._make_partitions()
        await self._drop_old_days()
        while await self._link.run(upkeep.expire_receipts(ttl_s=self._receipt_ttl_s, limit=RECEIPTS)) == RECEIPTS:
            pass
        await self._link.run(upkeep.forget_services(after_s=PERIOD_S))
        await self._link.run(upkeep.forget_hosts())
        return PERIOD_S

    async def _make_partitions(self) -> None:
        conn = await self._link.conn()
        before = await self._link.run(partitions.days())
        for statement in partitions.create_statements(self._today(), days_ahead=self._ahead_days):
            await conn.execute(statement)
        after = await self._link.run(partitions.days())
        if len(after) > len(before):
            events.partition_created(len(after) - len(before))

    async def _drop_old_days(self) -> None:
        """A day goes when all of its jobs are final; one that is not (a late requeue) keeps its day a while longer."""
        conn = await self._link.conn()
        for day in await self._link.run(partitions.days()):
            if day >= self._today() - self._keep:
                break
            if await self._link.run(partitions.has_unfinished(day)):
                continue
            await asyncio.to_thread(self._objects.delete_prefix, f"{day.isoformat()}/")
            for statement in partitions.drop_statements(day):
                await conn.execute(statement)
            await self._link.run(deliveries.forget_deliveries(day))
            events.partition_dropped(day)
