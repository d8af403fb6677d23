"""A pause of a host holds also for its jobs that are ready already, whoever made it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.outcome import Temporary
from scrapejobs.store import hosts, transitions
from scrapejobs.store.link import Link
from scrapejobs.store.run import Verb, run_async
from scrapejobs.worker.reporter import Reporter
from tests.integration.factories import WORKER, Conn, check_places, count, end_of, make_job, rows, tell, where

BUSY = Temporary("http_429", "the target asked for a rest", "headers", retry_after_s=60.0)
HOST = "shop.example"


@pytest.fixture
async def other(conn: Conn, database_url: str) -> AsyncIterator[Conn]:
    """A second connection."""
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as other:
        yield other


def claim(limit: int = 10) -> Verb[list[dict[str, object]]]:
    return transitions.claim(worker_id=WORKER, worker="w", limit=limit, lease_s=30.0)


async def pause(conn: Conn) -> None:
    await conn.execute(
        "INSERT INTO host (name, paused_until) VALUES (%s, clock_timestamp() + interval '1 minute')", [HOST]
    )


@pytest.mark.req("NFR-6")
@pytest.mark.case("S21")
async def test_when_a_host_asks_for_a_rest_its_ready_jobs_go_back_and_no_others(
    conn: Conn, link: Link, bus: Bus
) -> None:
    asks, calm = await make_job(conn, status="running"), await make_job(conn, status="running", host="calm.example")
    first, second = await make_job(conn, place="ready"), await make_job(conn, place="ready")
    elsewhere = [await make_job(conn, place="ready", host=name) for name in ("calm.example", "else.example")]
    reporter = Reporter(link, bus, report=lambda ends: tell(*ends), signal=lambda _: None, poll_s=5.0)
    ends = [end_of(asks, BUSY), end_of(calm, Temporary("timeout", "t", "headers"))]
    told = [asyncio.create_task(reporter.tell(end)) for end in ends]
    await asyncio.sleep(0)
    await reporter.tick()
    await asyncio.gather(*told)
    assert [await where(conn, job.id) for job in (first, second)] == [("queued", "queued")] * 2
    assert [await where(conn, job.id) for job in elsewhere] == [("queued", "ready")] * 2
    back = await rows(conn, "SELECT job_id, front, seq FROM queued ORDER BY seq DESC")  # the front: last in, first out
    assert [(row["job_id"], row["front"]) for row in back] == [(first.id, True), (second.id, True)]
    assert min(row["seq"] for row in back) > max(first.seq, second.seq)
    assert {row["job_id"] for row in await run_async(conn, claim())} == {job.id for job in elsewhere}


@pytest.mark.req("FR-11")
async def test_a_person_who_pauses_a_host_holds_back_its_ready_jobs(conn: Conn) -> None:
    job, other_host = await make_job(conn, place="ready"), await make_job(conn, place="ready", host="else.example")
    await run_async(conn, hosts.pause(HOST, for_s=None))
    assert await where(conn, job.id) == ("queued", "queued")
    assert await where(conn, other_host.id) == ("queued", "ready")


@pytest.mark.req("NFR-6")
async def test_a_claim_that_was_first_keeps_the_job_and_one_that_comes_later_finds_none(
    conn: Conn, other: Conn
) -> None:
    taken, held = await make_job(conn, place="ready"), await make_job(conn, place="ready")
    await pause(conn)
    await other.execute("SET lock_timeout = '2s'")
    async with conn.transaction():
        assert [row["job_id"] for row in await run_async(conn, claim(1))] == [taken.id]
        async with other.transaction():  # waits for nobody
            assert await run_async(other, transitions.hold_back([HOST])) == 1
            assert await run_async(conn, claim()) == []
    assert await where(conn, taken.id) == ("running", "lease")
    assert await where(conn, held.id) == ("queued", "queued")
    assert await run_async(other, transitions.hold_back([HOST])) == 0


@pytest.mark.req("P2")
async def test_a_host_that_was_resumed_meanwhile_keeps_its_ready_jobs(conn: Conn) -> None:
    job = await make_job(conn, place="ready")
    await pause(conn)
    await run_async(conn, hosts.resume(HOST))
    assert await run_async(conn, transitions.hold_back([HOST])) == 0
    assert await where(conn, job.id) == ("queued", "ready")


@pytest.mark.req("P2")
@pytest.mark.req("P4")
async def test_claims_that_race_with_a_pause_lose_no_job_and_double_none(conn: Conn, other: Conn) -> None:
    n = 60
    for _ in range(n):
        await make_job(conn, place="ready")
    await pause(conn)

    async def claim_all() -> int:
        return sum([len(await run_async(other, claim(1))) for _ in range(n)])

    claiming = asyncio.create_task(claim_all())
    back = 0
    while not claiming.done() or await count(conn, "ready"):
        await asyncio.sleep(0)
        back += await run_async(conn, transitions.hold_back([HOST]))
    assert await claiming + back == n
    assert (await count(conn, "lease"), await count(conn, "queued")) == (await claiming, back)
    await check_places(conn)
