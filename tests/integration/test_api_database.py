"""What a client is told while Postgres cannot do what the request needs: 503, and when to come again (NFR-3)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg import AsyncConnection

from scrapejobs.adapters.bus import Bus
from scrapejobs.outbox.publisher import Publisher
from scrapejobs.store import partitions
from scrapejobs.store.link import Link
from tests.integration.factories import Conn, count, one, today_utc, until
from tests.integration.world import Client, Reply, call, make_client, post_job

JOB = {"url": "https://www.example.com/"}


def check_unavailable(reply: Reply) -> None:
    assert (reply.status, reply.problem) == (503, "unavailable")
    assert int(reply.headers["Retry-After"]) > 0


async def by_one_thread(*calls: Any) -> list[Reply]:
    """The replies to requests that a thread makes one after another, over a connection of its own."""

    def make() -> list[Reply]:
        try:
            return [make_call() for make_call in calls]
        finally:
            connection.close()

    return await asyncio.to_thread(make)


@pytest.fixture
async def client(conn: Conn) -> Client:
    def make() -> Client:
        try:
            return make_client("acme")
        finally:
            connection.close()

    return await asyncio.to_thread(make)


@pytest.fixture
async def read_only(conn: Conn, client: Client) -> AsyncIterator[None]:
    """Whoever connects now finds a server that takes no writes, as after a failover."""
    name = conn.info.dbname
    await conn.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    yield
    await conn.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')


@pytest.mark.req("NFR-3")
async def test_a_request_whose_connection_is_cut_is_answered_503_and_the_next_one_is_served(
    conn: Conn, client: Client, database_url: str
) -> None:
    async with await AsyncConnection.connect(database_url) as holder:
        await holder.execute("LOCK TABLE job IN EXCLUSIVE MODE")

        def hand_in() -> Reply:
            return post_job(client.key, JOB)

        asking = asyncio.create_task(by_one_thread(hand_in, hand_in))

        async def cut() -> bool:
            row = await one(
                conn,
                "SELECT count(pg_terminate_backend(pid)) AS n FROM pg_stat_activity"
                " WHERE %s = ANY (pg_blocking_pids(pid))",
                holder.info.backend_pid,
            )
            return bool(row["n"])

        await until(cut)
    first, second = await asking
    check_unavailable(first)
    assert second.status == 202
    assert await count(conn, "job") == 1


@pytest.mark.req("NFR-3")
@pytest.mark.usefixtures("read_only")
async def test_a_server_that_takes_no_writes_is_503_and_the_next_request_looks_for_another(
    conn: Conn, client: Client
) -> None:
    def pid() -> Reply:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pids.append(cursor.fetchone())
        return Reply(0, {}, b"")

    pids: list[Any] = []
    read, _, written, _ = await by_one_thread(
        lambda: call("GET", "/jobs", key=client.key), pid, lambda: post_job(client.key, JOB), pid
    )
    assert read.status == 200
    check_unavailable(written)
    assert pids[0] != pids[1]


@pytest.mark.req("NFR-3")
@pytest.mark.usefixtures("read_only")
async def test_a_loop_that_met_a_server_that_takes_no_writes_connects_anew(link: Link, bus: Bus) -> None:
    pid = (await link.conn()).info.backend_pid
    with pytest.raises(psycopg.OperationalError):
        await Publisher(link, bus, poll_s=5.0).tick()
    assert (await link.conn()).info.backend_pid != pid


@pytest.mark.req("NFR-3")
async def test_a_job_of_a_day_without_a_partition_is_refused_for_now_and_not_as_a_bug(
    conn: Conn, client: Client
) -> None:
    name = partitions.name_of("job", today_utc())
    bounds = await one(conn, "SELECT pg_get_expr(relpartbound, oid) AS text FROM pg_class WHERE relname = %s", name)
    await conn.execute(f"ALTER TABLE job DETACH PARTITION {name}")
    try:
        (refused,) = await by_one_thread(lambda: post_job(client.key, JOB))
    finally:
        await conn.execute(f"ALTER TABLE job ATTACH PARTITION {name} {bounds['text']}")
    check_unavailable(refused)
    (taken,) = await by_one_thread(lambda: post_job(client.key, JOB))
    assert taken.status == 202
