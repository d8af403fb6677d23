"""A loop's own connection, and the two drivers of a verb."""

import asyncio

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.gateway.errors import problem_of
from scrapejobs.store import clock, transitions
from scrapejobs.store.link import Link
from scrapejobs.store.run import run, run_async
from tests.e2e.waiting import wait_until
from tests.integration.factories import Conn, make_job, one, until, where


@pytest.mark.req("NFR-3")
@pytest.mark.case("S7")
async def test_a_link_whose_connection_was_cut_connects_anew_at_the_next_call(conn: Conn, link: Link) -> None:
    pid = (await link.conn()).info.backend_pid
    await conn.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    with pytest.raises(psycopg.OperationalError):
        await link.run(clock.now())
    assert await link.run(clock.now()) is not None
    assert (await link.conn()).info.backend_pid != pid


@pytest.mark.req("NFR-4")
async def test_a_call_that_was_broken_off_leaves_no_half_of_a_verb_behind(conn: Conn, link: Link) -> None:
    job = await make_job(conn)
    pid = (await link.conn()).info.backend_pid
    async with conn.transaction():
        await conn.execute("SELECT FROM queued FOR UPDATE")
        cancelling = asyncio.create_task(link.run(transitions.cancel(job.id, tenant_id=1)))

        async def waits() -> bool:
            row = await one(conn, "SELECT cardinality(pg_blocking_pids(%s)) AS n", pid)
            return bool(row["n"])

        await until(waits)
        cancelling.cancel()
        await asyncio.gather(cancelling, return_exceptions=True)
    assert await where(conn, job.id) == ("queued", "queued")
    assert await link.run(clock.now()) is not None


@pytest.mark.req("NFR-4")
async def test_a_deadlock_is_tried_again(conn: Conn, database_url: str) -> None:
    first, second = await make_job(conn), await make_job(conn)
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as other:
        await other.execute("SET deadlock_timeout = '10s'")  # so that the verb is the victim
        await conn.execute("SET deadlock_timeout = '20ms'")
        async with other.transaction():
            await other.execute("SELECT FROM queued WHERE job_id = %s FOR UPDATE", [first.id])
            cancelling = asyncio.create_task(run_async(conn, transitions.cancel(first.id, tenant_id=1)))

            async def waits() -> bool:
                row = await one(other, "SELECT cardinality(pg_blocking_pids(%s)) AS n", conn.info.backend_pid)
                return bool(row["n"])

            await until(waits)
            await other.execute("SELECT FROM job WHERE id = %s FOR UPDATE", [first.id])
        done = await cancelling
    assert done is not None
    assert done.cancelled
    assert await where(conn, first.id) == ("cancelled", None)
    assert await where(conn, second.id) == ("queued", "queued")


@pytest.mark.req("NFR-1")
@pytest.mark.req("P9")
async def test_a_process_that_stands_still_within_a_transaction_does_not_hold_others_up(conn: Conn, link: Link) -> None:
    job = await make_job(conn)
    still = await link.conn()
    await still.execute("BEGIN")
    await still.execute("SELECT FROM job WHERE id = %s FOR UPDATE", [job.id])
    await conn.execute("SET lock_timeout = '10s'")
    assert await run_async(conn, transitions.cancel(job.id, tenant_id=1)) is not None
    with pytest.raises(psycopg.OperationalError):
        await link.run(clock.now())
    assert await link.run(clock.now()) is not None


@pytest.mark.req("NFR-1")
@pytest.mark.django_db(transaction=True)
def test_a_request_that_stood_still_within_a_transaction_is_answered_with_unavailable(database_url: str) -> None:
    def stand_still() -> None:
        with psycopg.connect(database_url, autocommit=True) as beside, transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                (pid,) = cursor.fetchone()
            alive = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
            wait_until(lambda: beside.execute(alive, [pid]).fetchone() is None, what="the end of its session")
            run(clock.now())

    with pytest.raises(DatabaseError) as caught:
        stand_still()
    problem = problem_of(caught.value)
    assert problem is not None
    assert problem.name == "unavailable"
    assert run(clock.now()) is not None


@pytest.mark.req("NFR-4")
@pytest.mark.django_db(transaction=True)
def test_the_same_verb_runs_on_djangos_connection() -> None:
    moment = run(clock.now())
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (later,) = cursor.fetchone()
    assert moment <= later
    assert run(transitions.publish(limit=1)) == 0
