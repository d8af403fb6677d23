"""Connections of the loops' kind, and a look at every job after each test that moved some."""

from collections.abc import AsyncIterator

import pytest

from scrapejobs.adapters.bus import Bus
from scrapejobs.adapters.storage import ObjectStore
from scrapejobs.store.link import Link
from tests.integration.factories import Conn, check_places
from tests.integration.object_stores import object_store
from tests.integration.schedulers import Schedulers


@pytest.fixture
async def conn(async_conn: Conn) -> AsyncIterator[Conn]:
    """An autocommit connection; when the test is over, every job must be where it may be (ADR-0012)."""
    yield async_conn
    await check_places(async_conn)


@pytest.fixture
async def link(committed: None, database_url: str) -> AsyncIterator[Link]:
    """A loop's own connection."""
    async with Link(database_url) as link:
        yield link


@pytest.fixture
async def bus(redis_url: str) -> AsyncIterator[Bus]:
    """A bus that sends; nobody hears in this process."""
    bus = Bus(redis_url, on_wake=lambda _: None)
    yield bus
    await bus.aclose()


@pytest.fixture
async def store(object_store_url: str) -> AsyncIterator[ObjectStore]:
    """The object store, over connections of this test alone."""
    store = object_store(object_store_url)
    yield store
    await store.close()


@pytest.fixture
async def scheduler(conn: Conn, database_url: str, bus: Bus) -> AsyncIterator[Schedulers]:
    """Makes dispatchers, and stops them at the end."""
    schedulers = Schedulers(database_url, bus)
    yield schedulers
    for one_ in schedulers.made:
        await one_.close()
