"""Connections of the loops' kind, and a look at every job after each test that moved some."""

from collections.abc import AsyncIterator

import pytest

from scrapejobs.adapters.bus import Bus
from scrapejobs.store.link import Link
from tests.integration.factories import Conn, check_places


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
