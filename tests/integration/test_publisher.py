"""The outbox at intake's end."""

import pytest
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.adapters.bus import Bus
from scrapejobs.outbox import publisher
from scrapejobs.outbox.publisher import Publisher
from scrapejobs.store import transitions
from scrapejobs.store.link import Link
from scrapejobs.store.run import run_async
from tests.integration.factories import Conn, count, make_job, rows, where


@pytest.mark.req("NFR-3")
async def test_every_accepted_job_is_published_once_in_the_order_of_its_id(conn: Conn, link: Link, bus: Bus) -> None:
    jobs = [await make_job(conn, place="unpublished") for _ in range(5)]
    loop = Publisher(link, bus, poll_s=5.0)
    assert await loop.tick() == 5.0
    await loop.tick()
    queued = await rows(conn, "SELECT job_id FROM queued ORDER BY seq")
    assert [row["job_id"] for row in queued] == sorted(job.id for job in jobs)
    assert await where(conn, jobs[0].id) == ("queued", "queued")


@pytest.mark.req("NFR-3")
async def test_a_full_batch_asks_for_the_next_pass_at_once(conn: Conn, link: Link, bus: Bus) -> None:
    for _ in range(3):
        await make_job(conn, place="unpublished")
    await conn.execute(
        "INSERT INTO job (id, tenant_id, priority, url, host, params, max_attempts, deadline_at)"
        " SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')"
        " || '70008000' || lpad(to_hex(i), 12, '0'))::uuid,"
        " 1, 1, 'http://h/', 'h', '{}', 5, clock_timestamp() + interval '1 hour'"
        " FROM generate_series(1, %s) i",
        [publisher.BATCH],
    )
    loop = Publisher(link, bus, poll_s=5.0)
    assert await loop.tick() == 0.0
    assert await loop.tick() == 5.0
    assert await count(conn, "queued") == publisher.BATCH + 3


@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-10")
async def test_two_publishers_share_the_work_and_none_waits(
    conn: Conn, link: Link, bus: Bus, database_url: str
) -> None:
    for _ in range(4):
        await make_job(conn, place="unpublished")
    async with (
        await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as other,
        other.transaction(),
    ):
        assert await run_async(other, transitions.publish(limit=3)) == 3
        await Publisher(link, bus, poll_s=5.0).tick()
        assert await count(conn, "queued") == 1
    assert await count(conn, "queued") == 4
    await Publisher(link, bus, poll_s=5.0).tick()
    assert await count(conn, "queued") == 4
