"""Old days go: objects before rows, and never a day that still has something to do."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.adapters.storage import ObjectStore, StorageUnavailable
from scrapejobs.domain.ids import first_of_day, object_key
from scrapejobs.domain.outcome import Lost
from scrapejobs.scheduler.retention import LOCK_TIMEOUT, Retention
from scrapejobs.store import partitions, transitions
from scrapejobs.store.link import Link
from scrapejobs.store.run import run, run_async
from tests.integration.factories import Conn, count, end_of, make_job, one, rows, tell, today_utc, where
from tests.integration.object_stores import put

KEEP_DAYS = 30
BODY = b"test"


@pytest.fixture
async def old_day(conn: Conn) -> AsyncIterator[date]:
    """A day past retention, with partitions."""
    day = today_utc() - timedelta(days=KEEP_DAYS + 1)
    for statement in partitions.create_statements(day, days_ahead=1):
        await conn.execute(statement)
    yield day
    await conn.execute("DELETE FROM queued")
    for offset in (-1, 0, 1):
        for statement in partitions.drop_statements(day + timedelta(days=offset)):
            await conn.execute(statement)


def retention(link: Link, objects: Any) -> Retention:
    return Retention(link, objects, keep_days=KEEP_DAYS, ahead_days=14, receipt_ttl_s=3600.0, secrets_s=86_400.0)


def id_of(day: date, n: int) -> UUID:
    return UUID(int=first_of_day(day).int + n)


async def put_result(store: ObjectStore, job_id: UUID) -> str:
    key = object_key(job_id=job_id, tenant_id=1, seq=1)
    await put(store, key, BODY)
    return key


async def days(conn: Conn) -> list[date]:
    return await run_async(conn, partitions.days())


@pytest.mark.req("NFR-9")
async def test_a_day_past_retention_goes_with_its_objects_and_a_younger_one_stays(
    conn: Conn, link: Link, store: ObjectStore, old_day: date
) -> None:
    old, young = id_of(old_day, 1), id_of(old_day + timedelta(days=1), 1)
    for job_id in (old, young):
        await make_job(conn, status="succeeded", id=job_id, finish_published_at=datetime.now().astimezone())
    keys = [await put_result(store, job_id) for job_id in (old, young)]
    for event_id in (id_of(old_day, 7), id_of(old_day + timedelta(days=1), 7)):
        await conn.execute(
            "INSERT INTO delivery (event_id, job_id, tenant_id, url, state) VALUES (%s, %s, 1, 'u', 'delivered')",
            [event_id, old],
        )
    await retention(link, store).tick()
    assert old_day not in await days(conn)
    assert old_day + timedelta(days=1) in await days(conn)
    assert [row["id"] for row in await rows(conn, "SELECT id FROM job")] == [young]
    assert [await store.head(key) for key in keys] == [None, len(BODY)]
    assert await count(conn, "delivery") == 1


@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-9")
@pytest.mark.parametrize("status", ["queued", "succeeded"])
async def test_a_day_with_an_unfinished_job_or_an_untold_end_stays_whole(
    conn: Conn, link: Link, store: ObjectStore, old_day: date, status: str
) -> None:
    job = await make_job(conn, status=status, id=id_of(old_day, 1))
    key = await put_result(store, job.id)
    await retention(link, store).tick()
    assert old_day in await days(conn)
    assert await store.head(key) == len(BODY)


@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-9")
@pytest.mark.case("S24")
async def test_a_day_whose_cancelled_job_still_has_its_hosts_slot_stays_until_it_is_let_go(
    conn: Conn, link: Link, store: ObjectStore, old_day: date
) -> None:
    """A lease without its job could be ended by nobody: the slot would leak."""
    job = await make_job(
        conn,
        status="cancelled",
        place="lease",
        id=id_of(old_day, 1),
        finish_published_at=datetime.now().astimezone(),
    )
    await retention(link, store).tick()
    assert old_day in await days(conn)
    assert [row["applied"] for row in (await link.run(tell(end_of(job, Lost())))).values()] == [False]
    assert await count(conn, "lease") == 0
    await retention(link, store).tick()
    assert old_day not in await days(conn)


class Away:
    """An object store that is not there."""

    def delete_prefix(self, prefix: str) -> int:
        raise StorageUnavailable(prefix)


@pytest.mark.req("NFR-9")
async def test_while_the_objects_cannot_be_removed_the_rows_stay(conn: Conn, link: Link, old_day: date) -> None:
    await make_job(conn, status="succeeded", id=id_of(old_day, 1), finish_published_at=datetime.now().astimezone())
    with pytest.raises(StorageUnavailable):
        await retention(link, Away()).tick()
    assert old_day in await days(conn)
    assert await count(conn, "job") == 1


class Meanwhile:
    """An object store at which something happens while the objects of `day` are removed."""

    def __init__(self, store: ObjectStore, day: date, happens: Callable[[], object]) -> None:
        self._store = store
        self._prefix = f"{day}/"
        self._happens = happens

    def delete_prefix(self, prefix: str) -> int:
        n = self._store.delete_prefix(prefix)
        if prefix == self._prefix:
            self._happens()
        return n


async def make_dead_letter(conn: Conn, old_day: date) -> UUID:
    made = await make_job(conn, status="failed", id=id_of(old_day, 1), finish_published_at=datetime.now().astimezone())
    return made.id


@pytest.mark.req("NFR-3")
@pytest.mark.req("P1")
async def test_a_dead_letter_requeued_while_its_days_objects_are_removed_is_not_lost(
    conn: Conn, link: Link, store: ObjectStore, old_day: date
) -> None:
    job_id = await make_dead_letter(conn, old_day)

    def requeue() -> None:
        assert run(transitions.requeue(job_id, tenant_id=None)) == "requeued"
        connection.close()  # this thread's own

    await retention(link, Meanwhile(store, old_day, requeue)).tick()
    assert await where(conn, job_id) == ("queued", "unpublished")
    await run_async(conn, transitions.publish(limit=1))
    assert await where(conn, job_id) == ("queued", "queued")


@pytest.mark.req("NFR-3")
@pytest.mark.req("P1")
async def test_a_requeue_under_way_keeps_the_day(
    conn: Conn, link: Link, store: ObjectStore, old_day: date, database_url: str
) -> None:
    job_id = await make_dead_letter(conn, old_day)
    async with await AsyncConnection.connect(database_url, row_factory=dict_row) as person, person.transaction():
        assert await run_async(person, transitions.requeue(job_id, tenant_id=None)) == "requeued"
        assert await retention(link, store).tick() <= 60.0
    await retention(link, store).tick()
    assert await where(conn, job_id) == ("queued", "unpublished")


@pytest.mark.req("NFR-9")
async def test_two_schedulers_may_drop_a_day_at_once(
    conn: Conn, link: Link, store: ObjectStore, old_day: date, database_url: str
) -> None:
    async with Link(database_url) as other:
        await asyncio.gather(retention(link, store).tick(), retention(other, store).tick())
    assert old_day not in await days(conn)


@pytest.mark.req("FR-2")
@pytest.mark.req("FR-13")
async def test_old_receipts_counts_and_silent_services_go(conn: Conn, link: Link, store: ObjectStore) -> None:
    await conn.execute(
        "INSERT INTO usage (tenant_id, day, jobs) VALUES (1, '2020-01-01', 7),"
        " (2, (clock_timestamp() AT TIME ZONE 'UTC')::date, 8)"
    )
    for key, age in (("old", "2 hours"), ("young", "1 minute")):
        await conn.execute(
            "INSERT INTO receipt (tenant_id, key, fingerprint, job_id, created_at)"
            " VALUES (1, %s, '', gen_random_uuid(), clock_timestamp() - %s::interval)",
            [key, age],
        )
        await conn.execute(
            "INSERT INTO service (id, role, name, hostname, pid, seen_at)"
            " VALUES (gen_random_uuid(), 'worker', %s, 'h', 1, clock_timestamp() - %s::interval)",
            [key, age],
        )
    await retention(link, store).tick()
    assert (await one(conn, "SELECT key FROM receipt"))["key"] == "young"
    assert (await one(conn, "SELECT name FROM service"))["name"] == "young"
    assert (await one(conn, "SELECT jobs FROM usage"))["jobs"] == 8


@pytest.mark.req("NFR-1")
@pytest.mark.req("NFR-9")
async def test_a_long_transaction_holds_partitions_up_and_makes_nobody_wait_behind_them(
    conn: Conn, link: Link, store: ObjectStore, database_url: str, old_day: date
) -> None:
    async with await AsyncConnection.connect(database_url) as backup:
        await backup.execute("LOCK TABLE job, attempt, event IN ACCESS SHARE MODE")
        assert await retention(link, store).tick() <= 60.0
        assert old_day in await run_async(conn, partitions.days())
        await backup.rollback()
    assert await retention(link, store).tick() == 3600.0
    assert old_day not in await run_async(conn, partitions.days())


@pytest.mark.req("NFR-2")
async def test_it_waits_for_a_lock_far_shorter_than_those_who_would_wait_behind_it(link: Link) -> None:
    show = "SELECT extract(epoch FROM current_setting('lock_timeout')::interval)::float8 AS s"
    conn = await link.conn()
    others = await one(conn, show)
    async with conn.transaction():
        await conn.execute(LOCK_TIMEOUT)
        mine = await one(conn, show)
    assert 0 < mine["s"] * 10 <= others["s"]


@pytest.mark.req("NFR-12")
async def test_the_secrets_of_what_failed_long_ago_are_erased(conn: Conn, link: Link, store: ObjectStore) -> None:
    ages = {"long": 2, "lately": 0}
    jobs = {}
    for name, days in ages.items():
        job = await make_job(conn, status="failed", sealed=b"sealed")
        await conn.execute(
            "UPDATE job SET finished_at = clock_timestamp() - make_interval(days => %s) WHERE id = %s", [days, job.id]
        )
        jobs[name] = job.id
    await retention(link, store).tick()
    left = {row["id"]: bytes(row["sealed"]) for row in await rows(conn, "SELECT id, sealed FROM job")}
    assert left == {jobs["long"]: b"", jobs["lately"]: b"sealed"}
