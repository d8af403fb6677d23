"""Reads of single jobs through the cache: never older than promised, one filler at a time, and all goes on without."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import msgspec
import pytest
import redis
from django.conf import settings
from django.db import connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from scrapejobs.adapters.bus import Bus, SyncBus
from scrapejobs.adapters.job_cache import PATIENCE_S, JobCache, key_of
from scrapejobs.config import Config
from scrapejobs.gateway.problems import Problem
from scrapejobs.outbox.finisher import Finisher
from scrapejobs.query import cached
from scrapejobs.store import transitions
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.run import run
from tests.integration.world import Client, end, make_client, make_job, old_id, start, stored

pytestmark = [pytest.mark.req("FR-4"), pytest.mark.usefixtures("committed")]


def connecting(url: str) -> Callable[[], Any]:
    client = redis.Redis.from_url(
        url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S, retry=Retry(NoBackoff(), 0)
    )
    return lambda: client


@pytest.fixture
def valkey(redis_url: str) -> Iterator[Any]:
    client = redis.Redis.from_url(redis_url)
    yield client
    client.close()


@pytest.fixture
def cache(redis_url: str) -> JobCache:
    return JobCache(connecting(redis_url))


@pytest.fixture
def acme(committed: None) -> Client:
    return make_client("acme")


CONFIG: Config = settings.CONFIG.model_copy(update={"job_cache_s": 2.0})


def read(client: Client, job_id: UUID, cache: JobCache) -> dict[str, Any]:
    entry = cached.read_job(job_id, tenant_id=client.tenant_id, config=CONFIG, cache=cache)
    return dict(msgspec.json.decode(entry.body))


def queries(act: Callable[[], object]) -> int:
    """How many statements it takes."""
    n = 0

    def count(execute: Any, *arguments: Any) -> Any:
        nonlocal n
        n += 1
        return execute(*arguments)

    with connection.execute_wrapper(count):
        act()
    return n


def test_the_second_read_asks_no_database_and_says_the_same(acme: Client, cache: JobCache, valkey: Any) -> None:
    job_id = make_job(acme)
    first = read(acme, job_id, cache)
    assert queries(lambda: read(acme, job_id, cache)) == 0
    assert read(acme, job_id, cache) == first
    assert 0 < valkey.pttl(key_of(job_id)) <= 2000


@pytest.mark.req("NFR-5")
def test_what_is_cached_of_one_tenant_is_not_there_for_another(acme: Client, cache: JobCache) -> None:
    job_id = make_job(acme)
    read(acme, job_id, cache)
    with pytest.raises(Problem) as refused:
        read(make_client("other"), job_id, cache)
    assert refused.value.name == "not-found"


@pytest.mark.case("S1")
def test_a_job_that_is_not_there_is_never_kept(acme: Client, cache: JobCache, valkey: Any) -> None:
    job_id = new_id()
    for _ in range(2):
        with pytest.raises(Problem):
            read(acme, job_id, cache)
    assert valkey.keys(f"*{job_id}*") == []
    make_job(acme, id_=job_id)
    assert read(acme, job_id, cache)["status"] == "queued"


@pytest.mark.parametrize(("state", "is_long"), [("succeeded", True), ("cancelled", True), ("failed", False)])
def test_what_can_no_longer_change_is_kept_as_long_as_its_job(
    acme: Client, cache: JobCache, valkey: Any, state: str, is_long: bool
) -> None:
    """A failed job may be requeued, so it is kept as shortly as one that runs."""
    job_id = make_job(acme, state)
    read(acme, job_id, cache)
    days = valkey.ttl(key_of(job_id)) / 86_400
    assert (CONFIG.retention_days - 1 < days < CONFIG.retention_days + 2) is is_long


def test_the_finish_event_removes_what_was_kept(
    acme: Client, cache: JobCache, database_url: str, redis_url: str
) -> None:
    job_id = make_job(acme)
    claimed = start(job_id)
    assert read(acme, job_id, cache)["status"] == "running"
    end(claimed, stored(claimed))
    assert read(acme, job_id, cache)["status"] == "running"  # not told yet
    _finish(database_url, redis_url)
    assert read(acme, job_id, cache)["status"] == "succeeded"


def _finish(database_url: str, redis_url: str) -> None:
    async def once() -> None:
        bus = Bus(redis_url, on_wake=lambda _: None)
        async with Link(database_url) as link:
            await Finisher(link, bus, poll_s=5.0).tick()
        await bus.aclose()

    asyncio.run(once())


def test_a_slow_reader_keeps_nothing_past_its_time_and_replaces_nothing_newer(
    acme: Client, cache: JobCache, valkey: Any
) -> None:
    job_id = make_job(acme)
    claimed = start(job_id)
    entry = cached.read_job(job_id, tenant_id=acme.tenant_id, config=CONFIG, cache=cache)  # rows of now
    end(claimed, stored(claimed))
    valkey.delete(key_of(job_id))
    assert read(acme, job_id, cache)["status"] == "succeeded"
    cache.keep(job_id, entry, ttl_s=1.5, is_settled=False)  # the slow reader comes last
    assert read(acme, job_id, cache)["status"] == "succeeded"
    other = make_job(acme)
    cache.keep(other, entry, ttl_s=-0.1, is_settled=False)
    assert not valkey.exists(key_of(other))


def test_a_requeue_is_seen_at_once_by_who_asked_for_it(acme: Client, cache: JobCache, redis_url: str) -> None:
    job_id = make_job(acme, "failed")
    assert read(acme, job_id, cache)["status"] == "failed"
    run(transitions.requeue(job_id, tenant_id=acme.tenant_id))
    SyncBus(redis_url).forget(job_id)
    assert read(acme, job_id, cache)["status"] == "queued"


def test_of_many_readers_at_once_one_fills(acme: Client, cache: JobCache) -> None:
    job_id = make_job(acme)
    turns: list[object] = []
    barrier = threading.Barrier(8)

    def look(_: int) -> None:
        barrier.wait()
        turns.append(cache.look(job_id))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(look, range(8)))
    assert sorted(map(str, turns)) == ["fill"] + ["wait"] * 7
    read(acme, job_id, cache)  # the filler does not come back: Postgres answers
    cache.pass_on(job_id)
    assert cache.look(job_id) == "fill"


@pytest.mark.req("P10")
@pytest.mark.parametrize("how", ["refuses", "hangs"])
def test_without_valkey_reads_go_to_postgres_and_wait_once_for_a_moment(acme: Client, how: str) -> None:
    job_id = make_job(acme)
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        if how == "hangs":
            dead.listen(1)
        cache = JobCache(connecting(f"redis://127.0.0.1:{dead.getsockname()[1]}/0"))
        assert read(acme, job_id, cache)["status"] == "queued"
        began = time.monotonic()
        looks = [cache.look(job_id) for _ in range(1000)]
        assert set(looks) == {"off"}
        assert time.monotonic() - began < 1000 * PATIENCE_S / 10  # they did not each wait


def test_what_another_version_kept_is_filled_anew(acme: Client, cache: JobCache, valkey: Any) -> None:
    job_id = make_job(acme)
    valkey.set(key_of(job_id), b'{"of": "another"}')
    assert read(acme, job_id, cache)["status"] == "queued"


def test_an_old_day_past_retention_is_not_kept_for_ever(acme: Client, cache: JobCache, valkey: Any) -> None:
    job_id = make_job(acme, "cancelled", id_=old_id(CONFIG.retention_days + 2))
    assert read(acme, job_id, cache)["status"] == "cancelled"
    assert not valkey.exists(key_of(job_id))
