"""Wake-ups and cancels over a real Valkey, and without one."""

import asyncio
import time
from uuid import UUID, uuid4

import pytest

from scrapejobs.adapters.bus import Bus, SyncBus
from tests.chaos import troubles
from tests.chaos.proxy import proxy_to
from tests.integration.factories import until

NOBODY = "redis://127.0.0.1:1/0"


class Heard:
    def __init__(self) -> None:
        self.topics: list[str] = []
        self.jobs: list[UUID] = []


async def stop(listening: "asyncio.Task[None]", *buses: Bus) -> None:
    listening.cancel()
    await asyncio.wait([listening], timeout=2)
    for bus in buses:
        await bus.aclose()


@pytest.mark.req("NFR-8")
async def test_a_wake_up_and_a_cancel_are_heard_by_whoever_listens(redis_url: str) -> None:
    heard, job_id, topic = Heard(), uuid4(), f"topic-{uuid4()}"
    bus = Bus(redis_url, on_wake=heard.topics.append, on_cancel=heard.jobs.append)
    listening = asyncio.create_task(bus.listen())
    await until(lambda: bus.connected)
    sync = SyncBus(redis_url)
    await bus.wake(topic)
    await asyncio.to_thread(sync.wake, topic)
    await asyncio.to_thread(sync.cancelled, job_id)
    await until(lambda: heard.topics.count(topic) == 2 and job_id in heard.jobs)
    await stop(listening, bus)


@pytest.mark.req("NFR-1")
@pytest.mark.req("P10")
async def test_without_a_valkey_sending_costs_next_to_nothing_and_raises_nothing() -> None:
    began = time.monotonic()
    bus = Bus(NOBODY, on_wake=lambda _: None)
    sync = SyncBus(NOBODY)
    for _ in range(200):
        await bus.wake("queued")
        sync.wake("submitted")
        sync.cancelled(uuid4())
    assert time.monotonic() - began < 1.0
    await bus.aclose()


@pytest.mark.req("NFR-8")
@pytest.mark.req("P10")
async def test_a_lost_connection_is_noticed_and_made_again(redis_url: str) -> None:
    heard, topic = Heard(), f"topic-{uuid4()}"
    with proxy_to(redis_url) as proxy:
        bus = Bus(proxy.url, on_wake=heard.topics.append)
        listening = asyncio.create_task(bus.listen())
        await until(lambda: bus.connected)
        proxy.bring(troubles.Refuse())
        await until(lambda: not bus.connected)
        proxy.heal()
        await until(lambda: bus.connected)
        await asyncio.to_thread(SyncBus(redis_url).wake, topic)
        await until(lambda: topic in heard.topics)
        await stop(listening, bus)


@pytest.mark.req("NFR-8")
@pytest.mark.req("P10")
async def test_a_valkey_that_hangs_is_not_relied_on(redis_url: str) -> None:
    with proxy_to(redis_url) as proxy:
        bus = Bus(proxy.url, on_wake=lambda _: None, ping_s=0.1)
        listening = asyncio.create_task(bus.listen())
        await until(lambda: bus.connected)
        proxy.bring(troubles.Hold())
        await until(lambda: not bus.connected)
        proxy.heal()
        await until(lambda: bus.connected)
        await stop(listening, bus)
