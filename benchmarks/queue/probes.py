"""What is measured from within one process: the product's own verbs, timed one by one."""

import asyncio
import random
import time
from functools import partial
from typing import Any

import msgspec
import psycopg

from benchmarks.queue.stand import HOSTS, PARAMS, TENANTS
from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.outcome import Exchange, Stored, StoredResult
from scrapejobs.domain.retry import RetryPolicy
from scrapejobs.store import services, transitions
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.reports import ended
from scrapejobs.store.transitions import NewJob

POLICY = RetryPolicy(base_s=2.0, cap_s=600.0, retry_after_cap_s=3600.0, max_lost=3)
RESULT = StoredResult("k", 4, "0" * 64, None, None, (), "http://x.example/", 200, "yes")


async def claims_under_a_held_snapshot(url: str, redis_url: str, n: int, *, slots: int) -> list[float]:
    """Seconds of each claim that found jobs, until `n` jobs are done, with a snapshot held since before the first."""
    took: list[float] = []
    worker, bus = new_id(), Bus(redis_url, on_wake=lambda _: None)
    async with await psycopg.AsyncConnection.connect(url) as holder, Link(url) as link:
        await holder.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        await holder.execute("SELECT count(*) FROM tenant")
        announce = partial(
            services.announce, worker, role="worker", name="probe", hostname="h", pid=1, slots=slots, draining=False
        )
        done, said_at = 0, 0.0
        while done < n:
            if time.monotonic() - said_at > 1.0:
                await link.run(announce())
                said_at = time.monotonic()
            began = time.perf_counter()
            rows = await link.run(transitions.claim(worker_id=worker, worker="probe", limit=slots, lease_s=60.0))
            if not rows:
                await asyncio.sleep(0.001)
                continue
            took.append(time.perf_counter() - began)
            ends = [ended({**row, "remaining_s": 60.0}, Stored(RESULT, Exchange())) for row in rows]
            await link.run(transitions.report(ends, policy=POLICY, random=random.random))
            await bus.wake("queued")
            done += len(rows)
    await bus.aclose()
    return took


def _job(number: int) -> NewJob:
    params: dict[str, Any] = msgspec.json.decode(PARAMS)
    return NewJob(
        id=new_id(),
        tenant_id=number % TENANTS,
        priority=number % 3,
        url="http://x.example/",
        host=f"h{number % HOSTS}.example",
        params=params,
        callback_url=None,
        tags={},
        max_attempts=5,
        deadline_s=86_400.0,
    )


async def submits(url: str, connections: int, seconds: float) -> float:
    """Jobs a second that intake's verb takes in, each committed durably by itself."""

    async def client(number: int) -> int:
        n = 0
        async with Link(url) as link:
            while time.monotonic() < until:
                await link.run(transitions.submit(_job(number + n * connections)))
                n += 1
        return n

    until = time.monotonic() + seconds
    return sum(await asyncio.gather(*(client(number) for number in range(connections)))) / seconds


async def publishes(url: str) -> float:
    """Jobs a second that a publisher moves into their queues."""
    began, total = time.monotonic(), 0
    async with Link(url, durable=False) as link:
        while n := await link.run(transitions.publish(limit=1000)):
            total += n
    return total / (time.monotonic() - began)


async def _until_all_work(link: Link) -> None:
    """Until a worker is there and somebody dispatches, and the queues have been quiet for a moment."""
    conn = await link.conn()
    ready = "SELECT 1 FROM service, dispatcher WHERE role = 'worker' AND expires_at > clock_timestamp()"
    while not await (await conn.execute(ready)).fetchall():  # noqa: ASYNC110 - other processes bring it about
        await asyncio.sleep(0.1)
    await asyncio.sleep(2.0)


async def starts_at(url: str, redis_url: str, *, rate: float, n: int) -> list[float]:
    """Seconds from a job's creation to its start, by the database's clock, at an even rate of submissions."""
    bus = Bus(redis_url, on_wake=lambda _: None)
    async with Link(url) as link:
        await _until_all_work(link)
        began = time.monotonic()
        for number in range(n):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            await link.run(transitions.submit(_job(number)))
            await bus.wake("submitted")
        await asyncio.sleep(2.0)
    await bus.aclose()
    async with await psycopg.AsyncConnection.connect(url) as conn:
        rows = await (
            await conn.execute("SELECT extract(epoch FROM started_at - created_at)::float8 FROM job")
        ).fetchall()
    return sorted(row[0] for row in rows)
