"""Objects that no job names and no attempt can name any more are found and removed, and no others (ADR-0019)."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from scrapejobs.adapters.storage import ObjectStore, StorageUnavailable
from scrapejobs.domain.ids import first_of_day, object_key
from scrapejobs.domain.outcome import Lost, Outcome, Released, Stored, StoredResult
from scrapejobs.scheduler.orphans import Orphans, Walk
from scrapejobs.store import dispatch, partitions, transitions
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.run import run_async
from tests.integration.factories import (
    STORED,
    TEMPORARY,
    Conn,
    Made,
    end_of,
    make_job,
    make_tenant,
    make_worker,
    one,
    rows,
    tell,
    today_utc,
)
from tests.integration.object_stores import object_store, put

BODY = b"test"
KEEP_DAYS = 30
LONG_AGO = first_of_day(today_utc() - timedelta(days=KEEP_DAYS + 1))


@pytest.fixture
async def store(object_store_url: str) -> AsyncIterator[ObjectStore]:
    store = object_store(object_store_url)
    await asyncio.to_thread(store.delete_prefix, "")
    yield store
    await asyncio.to_thread(store.delete_prefix, "")
    await store.close()


@pytest.fixture
async def past_days(conn: Conn) -> AsyncIterator[None]:
    """Partitions of yesterday and the day before."""
    first = today_utc() - timedelta(days=2)
    for statement in partitions.create_statements(first, days_ahead=2):
        await conn.execute(statement)
    yield
    for days in (0, 1):
        for statement in partitions.drop_statements(first + timedelta(days=days)):
            await conn.execute(statement)


def walk(link: Link, objects: Any, *, remove: bool = True) -> Walk:
    return Walk(link, objects, keep_days=KEEP_DAYS, remove=remove)


async def removed(link: Link, store: Any) -> set[str]:
    return {one.key async for seen in walk(link, store).pages() for one in seen.orphans}


def key_of(job: Made, seq: int | None = None) -> str:
    return object_key(job_id=job.id, tenant_id=job.tenant, seq=seq or job.seq)


async def put_at(store: ObjectStore, key: str) -> str:
    await put(store, key, BODY)
    return key


def stored_at(key: str) -> Outcome:
    result = STORED.result
    return Stored(
        StoredResult(key, result.size, result.sha256, "text/plain", None, (), "http://shop.example/", 200, "yes"),
        STORED.exchange,
    )


async def listed(store: ObjectStore) -> set[str]:
    return {found.key for found in (await asyncio.to_thread(store.list_page)).objects}


@pytest.mark.req("NFR-9")
async def test_an_object_of_a_running_attempt_or_of_a_result_is_never_touched(
    conn: Conn, link: Link, store: ObjectStore
) -> None:
    running, done = await make_job(conn, status="running"), await make_job(conn, status="running")
    cancelled = await make_job(conn, status="cancelled", place="lease")  # its worker has not let go yet
    kept = {await put_at(store, key_of(job)) for job in (running, done, cancelled)}
    await run_async(conn, tell(end_of(done, stored_at(key_of(done)))))
    assert await removed(link, store) == set()
    assert await listed(store) == kept


@pytest.mark.req("NFR-9")
@pytest.mark.case("S9")
@pytest.mark.parametrize("outcome", [TEMPORARY, Lost(), Released()], ids=["retry", "lost", "released"])
async def test_the_object_of_an_attempt_that_ended_without_it_goes(
    conn: Conn, link: Link, store: ObjectStore, outcome: Outcome
) -> None:
    job = await make_job(conn, status="running")
    await run_async(conn, tell(end_of(job, outcome)))
    orphan = await put_at(store, key_of(job))  # a put that was under way when the worker was stopped
    assert await removed(link, store) == {orphan}
    assert await listed(store) == set()


@pytest.mark.req("NFR-9")
async def test_of_two_attempts_of_a_job_only_the_object_that_its_row_names_stays(
    conn: Conn, link: Link, store: ObjectStore
) -> None:
    job = await make_job(conn, status="running")
    older = await put_at(store, key_of(job, job.seq + 1000))
    named = await put_at(store, key_of(job))
    await run_async(conn, tell(end_of(job, stored_at(named))))
    assert await removed(link, store) == {older}
    assert await listed(store) == {named}


@pytest.mark.req("NFR-9")
async def test_what_is_not_of_our_shape_is_left_alone(conn: Conn, link: Link, store: ObjectStore) -> None:
    job = await make_job(conn, status="failed")
    ours = key_of(job)
    day, tenant, id_, seq = ours.split("/")
    foreign = {
        "readme.txt",
        "backup/2026/1.tar",
        f"{ours}.part",
        f"copy/{ours}",
        f"1999-01-01/{tenant}/{id_}/{seq}",  # not the day of its job
        f"{day}/0{tenant}/{id_}/{seq}",
        f"{day}/{tenant}/{id_.upper()}/{seq}",
        f"{day}/{tenant}/{id_}/-{seq}",
    }
    for key in (ours, *foreign):
        await put_at(store, key)
    assert await removed(link, store) == {ours}
    assert await listed(store) == foreign


@pytest.mark.req("NFR-9")
async def test_an_object_that_came_after_its_day_was_dropped_goes(conn: Conn, link: Link, store: ObjectStore) -> None:
    late = await put_at(store, object_key(job_id=UUID(int=LONG_AGO.int + 1), tenant_id=1, seq=1))
    assert await removed(link, store) == {late}


@pytest.mark.req("NFR-9")
async def test_objects_of_jobs_that_the_database_does_not_know_are_counted_and_left_alone(
    conn: Conn, link: Link, store: ObjectStore
) -> None:
    key = await put_at(store, object_key(job_id=new_id(), tenant_id=1, seq=1))  # as after a restore of a backup
    seen = [seen async for seen in walk(link, store).pages()]
    assert [(page.orphans, page.n_unknown) for page in seen] == [((), 1)]
    assert await listed(store) == {key}


@pytest.mark.req("NFR-9")
async def test_the_loop_goes_on_page_by_page_and_rests_in_between(conn: Conn, link: Link, store: ObjectStore) -> None:
    job = await make_job(conn, status="failed")
    keys = sorted([await put_at(store, key_of(job, seq)) for seq in range(1001, 1006)])
    loop = Orphans(walk(link, Small(store)))
    assert await loop.tick() == 5.0  # the start waits for nobody
    assert await listed(store) == set(keys)
    assert await loop.tick() == 5.0
    assert await listed(store) == set(keys[2:])
    assert await loop.tick() == 5.0
    assert await loop.tick() == 3600.0
    assert await listed(store) == set()


@pytest.mark.req("NFR-9")
@pytest.mark.usefixtures("past_days")
async def test_a_new_scheduler_begins_with_yesterday_and_then_walks_the_whole_bucket(
    conn: Conn, link: Link, store: ObjectStore
) -> None:
    old = await make_job(conn, status="failed", id=_id_days_ago(2))
    young = await make_job(conn, status="failed", id=_id_days_ago(1))
    keys = [await put_at(store, key_of(job)) for job in (old, young)]
    loop = Orphans(walk(link, store))
    await loop.tick()
    await loop.tick()
    assert await listed(store) == {keys[0]}
    await loop.tick()
    assert await listed(store) == set()


@pytest.mark.req("NFR-10")
async def test_two_schedulers_at_it_at_once_do_no_harm(
    conn: Conn, link: Link, store: ObjectStore, database_url: str
) -> None:
    job, kept = await make_job(conn, status="failed"), await make_job(conn, status="running")
    for seq in range(1000, 1040):
        await put_at(store, key_of(job, seq))
    named = await put_at(store, key_of(kept))
    async with Link(database_url) as other:
        await asyncio.gather(removed(link, Small(store)), removed(other, Small(store)))
    assert await listed(store) == {named}


@pytest.mark.req("NFR-9")
async def test_a_result_that_is_reported_between_the_listing_and_the_look_stays(
    conn: Conn, link: Link, store: ObjectStore
) -> None:
    """The order that makes one snapshot enough: the page is older than the look."""
    job = await make_job(conn, status="running")
    named = await put_at(store, key_of(job))
    reporting = Reporting(store, lambda: run_async(conn, tell(end_of(job, stored_at(named)))))
    assert await removed(link, reporting) == set()
    assert await listed(store) == {named}


@pytest.mark.req("NFR-4")
async def test_every_way_back_to_a_queue_gives_a_new_number_so_none_is_leased_twice(conn: Conn) -> None:
    """What the proof of ADR-0019 stands on."""
    await make_tenant(conn)
    await make_worker(conn, slots=10)
    job = await make_job(conn, place="ready", ready_s=60.0)
    seqs = [job.seq]
    epoch = await run_async(conn, dispatch.take(holder="a", lease_s=60.0))
    assert epoch is not None
    assert await run_async(conn, dispatch.take_back(epoch=epoch, ready_ttl_s=1.0))
    for outcome in (Released(), Lost(), TEMPORARY):
        seqs.append(await _lease(conn, epoch))
        claimed = {**job.claimed, "seq": seqs[-1]}
        await run_async(conn, tell(end_of(Made(job.id, seqs[-1], 1, job.host, claimed), outcome)))
    await conn.execute("UPDATE delayed SET due_at = clock_timestamp()")
    assert await run_async(conn, transitions.promote(limit=10)) == 1
    seqs.append(await _lease(conn, epoch))
    assert len(set(seqs)) == 5
    assert seqs == sorted(seqs)


async def _lease(conn: Conn, epoch: int) -> int:
    """Dispatches and claims the one queued job; its number."""
    seq = int((await one(conn, "SELECT seq FROM queued"))["seq"])
    await run_async(conn, dispatch.dispatch([seq], epoch=epoch))
    (row,) = await run_async(conn, transitions.claim(worker_id=new_id(), worker="w", limit=1, lease_s=60.0))
    return int(row["seq"])


@pytest.mark.req("NFR-9")
@pytest.mark.usefixtures("past_days")
async def test_the_command_shows_orphans_and_removes_them_only_when_told(conn: Conn, store: ObjectStore) -> None:
    job, other = await make_job(conn, status="failed"), await make_job(conn, status="failed", id=_id_days_ago(2))
    await put_at(store, key_of(job))
    older = await put_at(store, key_of(other))
    found = {"objects": 2, "orphans": 2, "bytes": 8, "removed": 0, "unknown": 0}
    assert await _told() == found
    assert len(await listed(store)) == 2
    assert await _told("--day", today_utc().isoformat(), "--remove") == {
        "objects": 1,
        "orphans": 1,
        "bytes": 4,
        "removed": 1,
        "unknown": 0,
    }
    assert await listed(store) == {older}


async def _told(*arguments: str) -> Any:
    out = io.StringIO()
    await asyncio.to_thread(call_command, "orphans", "--json", *arguments, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.req("NFR-9")
async def test_while_the_store_is_away_the_loop_keeps_its_place(conn: Conn, link: Link, store: ObjectStore) -> None:
    job = await make_job(conn, status="failed")
    for seq in range(1001, 1005):
        await put_at(store, key_of(job, seq))
    objects = Small(store)
    loop = Orphans(walk(link, objects))
    assert [await loop.tick() for _ in range(2)] == [5.0, 5.0]
    objects.away = True
    assert await loop.tick() == 60.0  # and no error: the scheduler is ready without it
    objects.away = False
    assert await loop.tick() == 3600.0
    assert await rows(conn, "SELECT 1 FROM lease") == []
    assert await listed(store) == set()


def _id_days_ago(days: int) -> UUID:
    return UUID(int=first_of_day(today_utc() - timedelta(days=days)).int + 1)


class Small:
    """The object store with pages of two objects, and away at will."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self.away = False

    def list_page(self, *, prefix: str, after: str) -> Any:
        if self.away:
            raise StorageUnavailable("away")
        return self._store.list_page(prefix=prefix, after=after, limit=2)

    def delete_all(self, keys: Any) -> None:
        self._store.delete_all(keys)


class Reporting:
    """The object store; somebody reports just after a page was listed."""

    def __init__(self, store: ObjectStore, report: Any) -> None:
        self._store = store
        self._report = report
        self._loop = asyncio.get_running_loop()

    def list_page(self, *, prefix: str, after: str) -> Any:
        page = self._store.list_page(prefix=prefix, after=after)
        asyncio.run_coroutine_threadsafe(self._report(), self._loop).result(10)
        return page

    def delete_all(self, keys: Any) -> None:
        self._store.delete_all(keys)
