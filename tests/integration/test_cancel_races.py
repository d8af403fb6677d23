"""Two that meet at one job: whoever comes first, it ends in one state, in one place, with one event."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import pytest
from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable
from psycopg.rows import dict_row

from scrapejobs.domain.outcome import Lost
from scrapejobs.store import dispatch, hosts, transitions, upkeep
from scrapejobs.store.ids import new_id
from scrapejobs.store.query import sql
from scrapejobs.store.run import Verb, run_async
from scrapejobs.store.transitions import Cancellation
from tests.integration.factories import (
    STORED,
    TEMPORARY,
    WORKER,
    Conn,
    Made,
    check_places,
    count,
    end_of,
    make_job,
    one,
    rows,
    tell,
    until,
    where,
)

LEASE_S = 30.0


@pytest.fixture
async def other(conn: Conn, database_url: str) -> AsyncIterator[Conn]:
    """A second connection."""
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as other:
        yield other


@asynccontextmanager
async def while_open(conn: Conn, verb: Verb[object]) -> AsyncIterator[None]:
    """A verb has run on `conn` and is not committed until the block asks for it or ends."""
    async with conn.transaction():
        await run_async(conn, verb)
        yield


async def blocked(conn: Conn, other: Conn) -> bool:
    """Whether `other` waits for a lock. `conn` may be within a transaction."""
    row = await one(conn, "SELECT cardinality(pg_blocking_pids(%s)) > 0 AS waits", other.info.backend_pid)
    return bool(row["waits"])


async def cancel_during(conn: Conn, other: Conn, job: Made, verb: Verb[object]) -> Cancellation | None:
    """Cancels on `other` while `verb` is open on `conn`, which commits as soon as the cancel waits or is done."""
    async with while_open(conn, verb):
        cancelling = asyncio.create_task(run_async(other, transitions.cancel(job.id, tenant_id=job.tenant)))

        async def met() -> bool:
            return cancelling.done() or await blocked(conn, other)

        await until(met)
    return await cancelling


async def step_by_step(conn: Conn, verb: Verb[Cancellation | None], between: Callable[[], Awaitable[None]]) -> object:
    """Carries out an atomic verb on `conn`; after each of its statements something else happens."""
    steps = verb.start()
    async with conn.transaction():
        statement = next(steps)
        while True:
            found = await (await conn.execute(sql(statement.name), statement.params)).fetchall()
            await between()
            try:
                statement = steps.send(found)
            except StopIteration as stop:
                return stop.value


async def leader(conn: Conn) -> int:
    epoch = await run_async(conn, dispatch.take(holder="me", lease_s=60.0))
    assert epoch is not None
    return epoch


def claim(limit: int = 10) -> Verb[object]:
    return transitions.claim(worker_id=WORKER, worker="w", limit=limit, lease_s=LEASE_S)


async def finish_all(conn: Conn) -> None:
    while await run_async(conn, upkeep.finish([new_id() for _ in range(100)])):
        pass


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancel_that_meets_a_publication_waits_and_takes_the_job_out_of_its_queue(
    conn: Conn, other: Conn
) -> None:
    job = await make_job(conn, place="unpublished")
    assert await cancel_during(conn, other, job, transitions.publish(limit=10)) == Cancellation(cancelled=True)
    assert await where(conn, job.id) == ("cancelled", None)


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancel_that_meets_a_dispatch_waits_and_takes_the_job_out_of_ready(conn: Conn, other: Conn) -> None:
    job = await make_job(conn, place="queued")
    epoch = await leader(conn)
    done = await cancel_during(conn, other, job, dispatch.dispatch([job.seq], epoch=epoch))
    assert done == Cancellation(cancelled=True)
    assert await where(conn, job.id) == ("cancelled", None)


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancel_that_meets_a_claim_waits_and_names_the_worker(conn: Conn, other: Conn) -> None:
    job = await make_job(conn, place="ready")
    assert await cancel_during(conn, other, job, claim()) == Cancellation(cancelled=True, running_on=WORKER)
    assert await where(conn, job.id) == ("cancelled", "lease")


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancel_that_meets_a_take_back_waits_and_finds_the_job_in_its_queue(conn: Conn, other: Conn) -> None:
    job = await make_job(conn, place="ready", ready_s=60.0)
    epoch = await leader(conn)
    done = await cancel_during(conn, other, job, dispatch.take_back(epoch=epoch, ready_ttl_s=1.0))
    assert done == Cancellation(cancelled=True)
    assert await where(conn, job.id) == ("cancelled", None)


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancel_that_meets_a_pause_waits_and_finds_the_job_in_its_queue(conn: Conn, other: Conn) -> None:
    job = await make_job(conn, place="ready")
    assert await cancel_during(conn, other, job, hosts.pause(job.host, for_s=None)) == Cancellation(cancelled=True)
    assert await where(conn, job.id) == ("cancelled", None)


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancel_that_meets_a_promotion_waits_and_finds_the_job_in_its_queue(conn: Conn, other: Conn) -> None:
    job = await make_job(conn, place="delayed")
    await conn.execute("UPDATE delayed SET due_at = clock_timestamp()")
    assert await cancel_during(conn, other, job, transitions.promote(limit=10)) == Cancellation(cancelled=True)
    assert await where(conn, job.id) == ("cancelled", None)


@pytest.mark.req("P2")
@pytest.mark.req("P7")
@pytest.mark.case("S12")
@pytest.mark.parametrize("place", ["delayed", "queued", "ready"])
@pytest.mark.parametrize("still", range(4))
@pytest.mark.parametrize("moves", [1, 9])
async def test_a_job_that_moves_between_the_looks_of_a_cancel_is_found(
    conn: Conn, other: Conn, place: str, still: int, moves: int
) -> None:
    """It stays where it is for as many looks as `still` says, and then goes from place to place."""
    job = await make_job(conn, place=place, ready_s=60.0)
    await conn.execute("UPDATE delayed SET due_at = clock_timestamp()")
    await other.execute("SET lock_timeout = '50ms'")
    epoch = await leader(conn)
    looks = 0

    async def move() -> None:
        nonlocal looks
        looks += 1
        if not still < looks <= still + moves:
            return
        queued = await rows(other, "SELECT seq FROM queued")
        with suppress(LockNotAvailable):
            if not await run_async(other, dispatch.take_back(epoch=epoch, ready_ttl_s=0.0)):
                await run_async(other, dispatch.dispatch([row["seq"] for row in queued], epoch=epoch))
            if not queued:
                await run_async(other, transitions.promote(limit=10))

    done = await step_by_step(conn, transitions.cancel(job.id, tenant_id=job.tenant), move)
    assert done == Cancellation(cancelled=True)
    assert await where(conn, job.id) == ("cancelled", None)


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancel_that_comes_after_the_report_of_success_is_told_the_final_state(conn: Conn, other: Conn) -> None:
    job = await make_job(conn, status="running")
    done = await cancel_during(conn, other, job, tell(end_of(job, STORED)))
    assert done == Cancellation(cancelled=False, final="succeeded")
    assert await where(conn, job.id) == ("succeeded", None)


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancel_that_meets_the_report_of_a_temporary_failure_stops_the_retry(conn: Conn, other: Conn) -> None:
    job = await make_job(conn, status="running")
    assert await cancel_during(conn, other, job, tell(end_of(job, TEMPORARY))) == Cancellation(cancelled=True)
    assert await where(conn, job.id) == ("cancelled", None)


@pytest.mark.req("FR-5")
@pytest.mark.req("NFR-4")
@pytest.mark.case("S12")
@pytest.mark.parametrize("outcome", [STORED, TEMPORARY])
async def test_a_report_that_meets_a_cancel_is_told_again_and_only_the_attempt_is_recorded(
    conn: Conn, other: Conn, outcome: object
) -> None:
    job = await make_job(conn, status="running")
    async with while_open(conn, transitions.cancel(job.id, tenant_id=job.tenant)):
        early = await run_async(other, tell(end_of(job, outcome)))
    assert [(row["applied"], row["is_busy"]) for row in early.values()] == [(False, True)]
    assert await count(conn, "attempt") == 0
    told = await run_async(other, tell(end_of(job, outcome)))
    assert [(row["applied"], row["is_busy"]) for row in told.values()] == [(False, False)]
    assert await where(conn, job.id) == ("cancelled", None)
    row = await one(conn, "SELECT result_key, error_code FROM job WHERE id = %s", job.id)
    assert row == {"result_key": None, "error_code": None}
    assert (await one(conn, "SELECT outcome FROM attempt WHERE job_id = %s", job.id))["outcome"] == "cancelled"


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_what_is_being_cancelled_is_neither_claimed_nor_dispatched_nor_taken_back_nor_published(
    conn: Conn, other: Conn
) -> None:
    job = await make_job(conn, place="ready", ready_s=60.0)
    epoch = await leader(conn)
    async with while_open(conn, transitions.cancel(job.id, tenant_id=job.tenant)):
        assert await run_async(other, claim()) == []
        assert await run_async(other, dispatch.take_back(epoch=epoch, ready_ttl_s=1.0)) == []
    unpublished = await make_job(conn, place="unpublished")
    async with while_open(conn, transitions.cancel(unpublished.id, tenant_id=1)):
        assert await run_async(other, transitions.publish(limit=10)) == 0
    queued = await make_job(conn, place="queued")
    async with while_open(conn, transitions.cancel(queued.id, tenant_id=1)):
        dispatching = asyncio.create_task(run_async(other, dispatch.dispatch([queued.seq], epoch=epoch)))
        await until(lambda: blocked(conn, other))
    done = await dispatching
    assert (done.leads, done.moved) == (True, frozenset())


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_two_cancels_at_once_get_the_same_answer(conn: Conn, other: Conn) -> None:
    job = await make_job(conn, place="queued")
    done = await cancel_during(conn, other, job, transitions.cancel(job.id, tenant_id=job.tenant))
    assert done == Cancellation(cancelled=True, final="cancelled")
    await finish_all(conn)
    assert await count(conn, "event") == 1


@pytest.mark.req("NFR-7")
async def test_a_deadline_that_meets_a_claim_leaves_the_running_job_alone(conn: Conn, other: Conn) -> None:
    job = await make_job(conn, place="ready", deadline_s=-1.0)
    async with while_open(conn, claim()):
        expiring = asyncio.create_task(run_async(other, transitions.expire(job.id)))
        await until(lambda: blocked(conn, other))
    assert await expiring is False
    assert await where(conn, job.id) == ("running", "lease")


@pytest.mark.req("FR-5")
@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-4")
@pytest.mark.case("S3")
async def test_in_a_storm_of_cancels_each_job_ends_once_with_one_event_and_none_fails(  # noqa: C901 - five small loops
    conn: Conn, database_url: str
) -> None:
    chance = random.Random(7)
    jobs = [await make_job(conn, place="unpublished", max_attempts=100) for _ in range(120)]
    epoch = await leader(conn)
    cancelled: set[UUID] = set()

    async def often(body: Callable[[Conn], Awaitable[bool]]) -> None:
        async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as mine:
            async with asyncio.timeout(20):
                while await body(mine):  # noqa: ASYNC110 - chance decides who comes first
                    await asyncio.sleep(chance.random() * 0.002)

    async def unfinished(mine: Conn) -> bool:
        return bool(await rows(mine, "SELECT FROM job WHERE final_state IS NULL LIMIT 1"))

    async def publish(mine: Conn) -> bool:
        await run_async(mine, transitions.publish(limit=7))
        await run_async(mine, transitions.promote(limit=7))
        return await unfinished(mine)

    async def move(mine: Conn) -> bool:
        queued = await rows(mine, "SELECT seq FROM queued ORDER BY seq LIMIT 9")
        await run_async(mine, dispatch.dispatch([row["seq"] for row in queued], epoch=epoch))
        await run_async(mine, dispatch.take_back(epoch=epoch, ready_ttl_s=0.002))
        return await unfinished(mine)

    async def work(mine: Conn) -> bool:
        claimed = await run_async(mine, transitions.claim(worker_id=WORKER, worker="w", limit=4, lease_s=LEASE_S))
        outcomes = [chance.choice([STORED, Lost()]) for _ in claimed]
        made = [Made(row["job_id"], row["seq"], 1, row["host"], {**row, "lost": 0}) for row in claimed]
        ends = [end_of(job, outcome) for job, outcome in zip(made, outcomes, strict=True)]
        await run_async(mine, tell(*ends))
        return await unfinished(mine)

    doomed = chance.sample(jobs, k=70)

    async def cancel(mine: Conn) -> bool:
        if not doomed:
            return False
        job = doomed.pop()
        done = await run_async(mine, transitions.cancel(job.id, tenant_id=1))
        assert done is not None
        if done.cancelled:
            cancelled.add(job.id)
        return True

    async def finish(mine: Conn) -> bool:
        await run_async(mine, upkeep.finish([new_id() for _ in range(5)]))
        return await unfinished(mine)

    await asyncio.gather(
        *(often(body) for body in (publish, publish, move, work, work, cancel, cancel, finish, finish))
    )
    await finish_all(conn)
    await check_places(conn)
    ends = {row["id"]: row["final_state"] for row in await rows(conn, "SELECT id, final_state FROM job")}
    assert ends == {job.id: "cancelled" if job.id in cancelled else "succeeded" for job in jobs}
    told = await rows(conn, "SELECT job_id, status FROM event")
    assert len(told) == len(jobs)
    assert {row["job_id"]: row["status"] for row in told} == ends
