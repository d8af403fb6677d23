"""While a batch of thousands is acted on, nobody else waits: workers are not stalled (case S20)."""

import asyncio

import pytest

from scrapejobs.store import cancellation, transitions
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.run import Verb, run_async
from tests.integration.factories import STORED, Conn, end_of, make_job, one, tell, where

BATCH = 500


async def in_bulk(conn: Conn, n: int, **columns: str) -> list[object]:
    """Copies of the one job of that host, made in one statement."""
    names = ", ".join(columns)
    row = await one(
        conn,
        "WITH made AS (INSERT INTO job (id, tenant_id, priority, url, host, params, max_attempts, deadline_at,"  # noqa: S608
        f" {names}) SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')"
        " || '7fff8' || lpad(to_hex(i), 15, '0'))::uuid, 1, 1, 'http://bulk.example/', 'bulk.example', '{}', 5,"
        f" clock_timestamp() + interval '1 hour', {', '.join(columns.values())} FROM generate_series(1, %s) i"
        " RETURNING id) SELECT array_agg(id) AS ids FROM made",
        n,
    )
    return list(row["ids"])


async def meanwhile(conn: Conn, verb: Verb[object], other: Link) -> None:
    """What intake, publisher and worker do while a batch is under way. None of it may wait for the batch's locks, which
    are held until all of it is done: it would wait for ever.
    """
    ready, running = await make_job(conn, place="ready"), await make_job(conn, status="running")
    waiting = await make_job(conn, place="unpublished")
    async with conn.transaction():
        await run_async(conn, verb)
        async with asyncio.timeout(60):
            claim = transitions.claim(worker_id=new_id(), worker="w", limit=10, lease_s=60.0)
            assert [row["job_id"] for row in await other.run(claim)] == [ready.id]
            assert await other.run(transitions.publish(limit=1000)) == 1
            assert (await other.run(tell(end_of(running, STORED))))[running.seq]["applied"]
    assert await where(conn, waiting.id) == ("queued", "queued")


@pytest.mark.req("FR-10")
@pytest.mark.case("S20")
async def test_while_a_batch_is_requeued_jobs_are_claimed_published_and_reported(conn: Conn, link: Link) -> None:
    failed = await in_bulk(
        conn,
        BATCH,
        final_state="'failed'",
        error_class="'permanent'",
        error_code="'http_401'",
        finished_at="clock_timestamp()",
        finish_published_at="clock_timestamp()",
        published_at="clock_timestamp()",
    )
    await meanwhile(conn, transitions.requeue_all(failed), link)  # type: ignore[arg-type]


@pytest.mark.req("FR-5")
@pytest.mark.case("S20")
async def test_while_a_batch_is_cancelled_jobs_are_claimed_published_and_reported(conn: Conn, link: Link) -> None:
    unfinished = await in_bulk(conn, BATCH, published_at="clock_timestamp()")
    await conn.execute(
        "INSERT INTO queued (job_id, priority, tenant_id, host) SELECT id, priority, tenant_id, host FROM job"
    )
    await meanwhile(conn, cancellation.cancel_all(unfinished), link)  # type: ignore[arg-type]
