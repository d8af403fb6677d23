"""The fault proxy of the chaos suite on the real servers: each trouble does what it says, and ends."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import psycopg
import pytest
import redis

from scrapejobs.adapters.storage import ObjectStore, StorageUnavailable
from tests.chaos import troubles
from tests.chaos.proxy import Proxy, proxy_to
from tests.integration.factories import until
from tests.integration.object_stores import object_store, put

DELAY_S = 0.2


@pytest.fixture
def to_postgres(database_url: str) -> Iterator[Proxy]:
    with proxy_to(database_url) as proxy:
        yield proxy


@pytest.fixture
def to_valkey(redis_url: str) -> Iterator[Proxy]:
    with proxy_to(redis_url) as proxy:
        yield proxy


@pytest.fixture
def to_s3(object_store_url: str) -> Iterator[Proxy]:
    with proxy_to(object_store_url) as proxy:
        yield proxy


@pytest.fixture
async def store(to_s3: Proxy) -> AsyncIterator[ObjectStore]:
    store = object_store(to_s3.url)
    yield store
    await store.close()


def connected(proxy: Proxy, **options: object) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(proxy.url, autocommit=True, connect_timeout=5, **options)


def answers(connection: "psycopg.Connection[tuple[object, ...]]") -> bool:
    return connection.execute("SELECT 42").fetchone() == (42,)


# ---- lines of any kind


def test_without_trouble_a_line_carries_what_is_said_both_ways(to_postgres: Proxy, to_valkey: Proxy) -> None:
    with connected(to_postgres) as connection:
        row = connection.execute("SELECT repeat('x', 1000000)").fetchone()
    assert row == ("x" * 1_000_000,)
    with redis.Redis.from_url(to_valkey.url) as client:
        assert client.echo("x" * 1_000_000) == b"x" * 1_000_000


def test_a_cut_ends_every_line_and_the_next_one_is_let_in(to_postgres: Proxy) -> None:
    with connected(to_postgres) as connection:
        assert answers(connection)
        to_postgres.cut()
        with pytest.raises(psycopg.OperationalError):
            answers(connection)
    assert to_postgres.counts["cut"] == 1
    with connected(to_postgres) as connection:
        assert answers(connection)


def test_a_refusal_ends_every_line_and_nobody_listens_until_it_is_healed(to_postgres: Proxy, to_valkey: Proxy) -> None:
    with connected(to_postgres) as connection:
        to_postgres.bring(troubles.Refuse())
        with pytest.raises(psycopg.OperationalError):
            answers(connection)
    with pytest.raises(psycopg.OperationalError, match="refused"):
        connected(to_postgres)
    to_valkey.bring(troubles.Refuse())
    with redis.Redis.from_url(to_valkey.url, retry=None) as client:
        with pytest.raises(redis.ConnectionError, match="refused"):
            client.ping()
        to_valkey.heal()
        assert client.ping()
    to_postgres.heal()
    with connected(to_postgres) as connection:
        assert answers(connection)


def test_a_black_hole_takes_lines_and_answers_nothing_and_cuts_them_when_it_is_healed(to_valkey: Proxy) -> None:
    with redis.Redis.from_url(to_valkey.url, socket_timeout=0.2, retry=None) as client:
        assert client.ping()
        to_valkey.bring(troubles.Swallow())
        with pytest.raises(redis.TimeoutError):
            client.ping()
        with pytest.raises(redis.TimeoutError):
            client.ping()  # by a new line
        to_valkey.heal()
        assert client.ping()
    assert to_valkey.counts["swallowed"] >= 2


async def test_what_is_held_goes_through_when_it_is_over(to_postgres: Proxy) -> None:
    with connected(to_postgres) as connection:
        to_postgres.bring(troubles.Hold())
        asking = asyncio.create_task(asyncio.to_thread(answers, connection))
        await until(lambda: to_postgres.counts["held"] > 0)
        assert not asking.done()
        to_postgres.heal()
        assert await asking


def test_a_delayed_answer_comes_so_much_later(to_valkey: Proxy) -> None:
    with redis.Redis.from_url(to_valkey.url) as client:
        client.ping()
        to_valkey.bring(troubles.Delay(DELAY_S))
        began = time.monotonic()
        assert client.ping()
        assert time.monotonic() - began >= DELAY_S


def test_of_a_lost_answer_the_deed_is_done(to_postgres: Proxy, database_url: str) -> None:
    table = f"deed_{uuid4().hex}"
    with connected(to_postgres) as connection:
        to_postgres.bring(troubles.LoseAnswer(b"CREATE TABLE", times=1))
        assert answers(connection)
        with pytest.raises(psycopg.OperationalError):
            connection.execute(f"CREATE TABLE {table} ()")
    assert to_postgres.counts["lost"] == 1
    with connected(to_postgres) as connection:
        connection.execute(f"DROP TABLE {table}")


def test_with_its_server_away_a_line_is_reset() -> None:
    with (
        proxy_to("redis://127.0.0.1:1/0") as proxy,
        redis.Redis.from_url(proxy.url, retry=None) as client,
        pytest.raises(redis.ConnectionError),
    ):
        client.ping()


# ---- the object store's


async def test_an_unavailable_store_answers_503_whatever_the_size(store: ObjectStore, to_s3: Proxy) -> None:
    for size in (0, 1, 3 * 1024 * 1024):
        to_s3.bring(troubles.Unavailable())
        key = f"2026-11-30/7/{uuid4()}/1"
        with pytest.raises(StorageUnavailable, match="answered 503 to PUT"):
            await put(store, key, b"x" * size)
        with pytest.raises(StorageUnavailable, match="answered 503 to HEAD"):
            await store.head(key)
        to_s3.heal()
        assert await store.head(key) is None
        await put(store, key, b"x" * size)
        assert await store.head(key) == size
    assert to_s3.counts["unavailable"] == 6


@pytest.mark.req("P3")
@pytest.mark.parametrize("size", [1000, 3 * 1024 * 1024])
async def test_a_put_that_is_cut_in_its_body_leaves_no_object(store: ObjectStore, to_s3: Proxy, size: int) -> None:
    key = f"2026-11-30/7/{uuid4()}/1"
    to_s3.bring(troubles.CutPut(size // 2))
    with pytest.raises(StorageUnavailable):
        await put(store, key, os.urandom(size))
    assert to_s3.counts["cut in a PUT"] >= 1
    assert await store.head(key) is None  # the trouble is for PUTs alone
    to_s3.heal()
    await put(store, key, os.urandom(size))
    assert await store.head(key) == size


@pytest.mark.req("P3")
@pytest.mark.parametrize("size", [1000, 3 * 1024 * 1024])
async def test_a_body_that_was_changed_on_its_way_is_refused_by_the_store(
    store: ObjectStore, to_s3: Proxy, size: int
) -> None:
    key = f"2026-11-30/7/{uuid4()}/1"
    to_s3.bring(troubles.Corrupt())
    with pytest.raises(StorageUnavailable):
        await put(store, key, os.urandom(size))
    assert to_s3.counts["corrupted"] == 1
    assert await store.head(key) is None


async def test_a_wrong_etag_is_seen_by_the_client(store: ObjectStore, to_s3: Proxy) -> None:
    to_s3.bring(troubles.WrongETag())
    key = f"2026-11-30/7/{uuid4()}/1"
    await put(store, key, b"page")
    seen = await asyncio.to_thread(store._s3.head_object, Bucket=os.environ["S3_BUCKET"], Key=key)
    assert seen["ETag"] == '"' + "0" * 32 + '"'
    assert to_s3.counts["wrong ETags"] >= 2
