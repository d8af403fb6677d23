"""The outbox at the other end: one finish event for each final job."""

import asyncio

import pytest
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.adapters.bus import Bus
from scrapejobs.outbox.finisher import Finisher
from scrapejobs.store import transitions, upkeep
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.run import run_async
from tests.integration.factories import PERMANENT, Conn, count, end_of, make_job, rows, tell, until


@pytest.mark.req("FR-9")
@pytest.mark.req("P6")
async def test_each_final_job_gets_one_event_and_a_delivery_if_it_has_a_callback(
    conn: Conn, link: Link, bus: Bus
) -> None:
    ends = {
        (await make_job(conn, status=status, callback_url=url)).id: (status, url)
        for status in ("succeeded", "failed", "cancelled")
        for url in ("https://hook.example/", None)
    }
    await make_job(conn)
    await make_job(conn, status="running")
    loop = Finisher(link, bus, poll_s=5.0)
    await loop.tick()
    await loop.tick()
    told = await rows(conn, "SELECT id, job_id, status, tenant_id FROM event")
    assert {row["job_id"]: row["status"] for row in told} == {job_id: status for job_id, (status, _) in ends.items()}
    assert len(told) == len(ends)
    asked = await rows(conn, "SELECT event_id, job_id, url, state, tries FROM delivery")
    assert {row["job_id"] for row in asked} == {job_id for job_id, (_, url) in ends.items() if url}
    assert {row["event_id"] for row in asked} < {row["id"] for row in told}
    assert {(row["url"], row["state"], row["tries"]) for row in asked} == {("https://hook.example/", "pending", 0)}


@pytest.mark.req("P6")
@pytest.mark.req("NFR-4")
async def test_two_finishers_at_once_write_each_event_once(conn: Conn, link: Link, bus: Bus, database_url: str) -> None:
    for _ in range(6):
        await make_job(conn, status="succeeded", callback_url="https://hook.example/")
    async with (
        await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as other,
        other.transaction(),
    ):
        assert len(await run_async(other, upkeep.finish([new_id() for _ in range(4)]))) == 4
        await Finisher(link, bus, poll_s=5.0).tick()
        assert await count(conn, "event") == 2
    await Finisher(link, bus, poll_s=5.0).tick()
    assert len({row["job_id"] for row in await rows(conn, "SELECT job_id FROM event")}) == 6
    assert await count(conn, "event") == await count(conn, "delivery") == 6


@pytest.mark.req("P6")
@pytest.mark.req("FR-10")
@pytest.mark.parametrize("how", ["one", "many"])
async def test_a_requeue_before_the_finisher_came_still_lets_that_end_be_told(conn: Conn, how: str) -> None:
    jobs = [await make_job(conn, status="failed", callback_url="https://hook.example/") for _ in range(3)]
    other = await make_job(conn, status="failed")
    if how == "one":
        for job in jobs:
            assert await run_async(conn, transitions.requeue(job.id, tenant_id=1)) == "requeued"
    else:
        assert sorted(await run_async(conn, transitions.requeue_all([job.id for job in jobs]))) == sorted(
            j.id for j in jobs
        )
    told = await rows(conn, "SELECT id, job_id, status FROM event ORDER BY job_id")
    assert [(row["job_id"], row["status"]) for row in told] == [(id_, "failed") for id_ in sorted(j.id for j in jobs)]
    assert {row["event_id"] for row in await rows(conn, "SELECT event_id FROM delivery")} == {row["id"] for row in told}
    await run_async(conn, upkeep.finish([new_id() for _ in range(9)]))
    assert [row["job_id"] for row in await rows(conn, "SELECT job_id FROM event WHERE job_id = %s", other.id)] == [
        other.id
    ]
    assert await count(conn, "event") == 4


@pytest.mark.req("P6")
async def test_a_requeue_of_an_end_that_was_told_writes_no_second_event_and_the_next_end_its_own(conn: Conn) -> None:
    job = await make_job(conn, status="running")
    await run_async(conn, tell(end_of(job, PERMANENT)))
    await run_async(conn, upkeep.finish([new_id()]))
    await run_async(conn, transitions.requeue_all([job.id]))
    assert await count(conn, "event") == 1
    await run_async(conn, transitions.cancel(job.id, tenant_id=1))
    await run_async(conn, upkeep.finish([new_id()]))
    assert [row["status"] for row in await rows(conn, "SELECT status FROM event ORDER BY seq")] == [
        "failed",
        "cancelled",
    ]


@pytest.mark.req("P6")
async def test_a_requeue_that_meets_the_finisher_waits_and_the_end_is_told_once(conn: Conn, database_url: str) -> None:
    job = await make_job(conn, status="failed")
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as other:
        async with other.transaction():
            assert len(await run_async(other, upkeep.finish([new_id()]))) == 1
            requeue = asyncio.ensure_future(run_async(conn, transitions.requeue_all([job.id])))

            async def waits() -> bool:
                blocked = await rows(other, "SELECT cardinality(pg_blocking_pids(%s)) AS n", conn.info.backend_pid)
                return bool(blocked[0]["n"])

            await until(waits)
        assert await requeue == [job.id]
    assert await count(conn, "event") == 1
