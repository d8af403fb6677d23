"""Redirected attempts ask for room at their next host: real dispatcher, real worker loops, real Postgres (ADR-0022)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from aiohttp import web

from scrapejobs.adapters.bus import Bus
from scrapejobs.adapters.storage import ObjectStore
from scrapejobs.domain.outcome import Lost, failure
from scrapejobs.domain.picking import HostLimits
from scrapejobs.scheduler.dispatch_lease import LeaseLost
from scrapejobs.store import dispatch, permits
from scrapejobs.store.link import Link
from scrapejobs.store.permits import Asked
from scrapejobs.store.reports import ended
from scrapejobs.store.run import run_async
from scrapejobs.worker.permits import Permits
from scrapejobs.worker.runner import FetchRunner
from scrapejobs.worker.slots import Break
from tests.integration.factories import (
    PARAMS,
    STORED,
    Conn,
    count,
    make_job,
    make_worker,
    one,
    rows,
    tell,
    until,
    where,
)
from tests.integration.schedulers import Scheduler, Schedulers, claim, end, take_lease_away
from tests.integration.test_worker import Worker, fetcher, ready

A, B = "a.example", "b.example"
ONE = HostLimits(1e6, 1e6, 1)


class Asking:
    """The permits loop of a worker, ticked by hand, and the attempts that wait in it."""

    def __init__(self, link: Link, bus: Bus, *, ttl_s: float = 2.0) -> None:
        self.signalled: list[str] = []
        self.loop = Permits(link, bus, signal=self.signalled.append, ttl_s=ttl_s, poll_s=5.0)
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(self, seq: int, host: str) -> "asyncio.Task[None]":
        task = asyncio.create_task(self.loop.wait(seq, host))
        self.tasks.append(task)
        await asyncio.sleep(0)
        await self.loop.tick()
        return task

    async def is_permitted(self, task: "asyncio.Task[None]") -> bool:
        await self.loop.tick()
        await asyncio.sleep(0)
        return task.done() and task.exception() is None

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@pytest.fixture
async def asking(link: Link, bus: Bus) -> AsyncIterator[Asking]:
    asking = Asking(link, bus)
    yield asking
    await asking.close()


async def start(conn: Conn, me: Scheduler, *hosts: str) -> list[dict[str, Any]]:
    """A running job at each of these hosts, in their order."""
    await make_worker(conn, slots=10)
    jobs = [await make_job(conn, host=host) for host in hosts]
    await me.tick()
    by_job = {row["job_id"]: row for row in await claim(conn, 10)}
    return [by_job[job.id] for job in jobs]


@pytest.mark.req("NFR-6")
async def test_a_redirected_attempt_leaves_its_host_and_goes_on_when_the_next_has_room(
    conn: Conn, scheduler: Schedulers, asking: Asking
) -> None:
    me = scheduler(default=ONE)
    at_a, at_b = await start(conn, me, A, B)
    behind_a, behind_b = await make_job(conn, host=A), await make_job(conn, host=B)
    task = await asking.ask(at_a["seq"], B)
    await me.tick()
    assert await where(conn, behind_a.id) == ("queued", "ready")
    assert not await asking.is_permitted(task)
    await end(conn, at_b, STORED)
    await me.tick()
    assert await asking.is_permitted(task)
    for _ in range(3):
        await me.tick()
    assert await where(conn, behind_b.id) == ("queued", "queued")  # the attempt holds the one slot
    await end(conn, at_a, STORED)
    await me.tick()
    assert await where(conn, behind_b.id) == ("queued", "ready")


@pytest.mark.req("NFR-6")
async def test_each_further_request_to_the_same_host_spends_a_token(
    conn: Conn, scheduler: Schedulers, asking: Asking
) -> None:
    me = scheduler(default=HostLimits(0.1, 2.0, 10))
    await me.tick()  # a new leader's bucket is empty: a token in ten seconds
    me.ahead_s += 10.0
    (row,) = await start(conn, me, A)
    task = await asking.ask(row["seq"], A)
    await me.tick()
    assert not await asking.is_permitted(task)
    await me.tick(after_s=9.0)
    assert not await asking.is_permitted(task)
    await me.tick(after_s=1.1)
    assert await asking.is_permitted(task)


@pytest.mark.req("NFR-6")
async def test_a_paused_host_gives_no_permit_until_it_is_resumed(
    conn: Conn, scheduler: Schedulers, asking: Asking
) -> None:
    me = scheduler(default=ONE)
    (row,) = await start(conn, me, A)
    await conn.execute("INSERT INTO host (name, paused_until) VALUES ('*.example', '9999-01-01Z')")
    task = await asking.ask(row["seq"], B)
    await me.tick(after_s=1.0)
    assert not await asking.is_permitted(task)
    await conn.execute("UPDATE host SET paused_until = NULL")
    rest_s = await me.tick(after_s=0.1)
    assert rest_s <= 0.5  # it looks again by itself
    await me.tick(after_s=0.5)
    assert await asking.is_permitted(task)


@pytest.mark.req("NFR-6")
async def test_limits_of_a_wider_name_hold_for_the_host_that_a_redirect_leads_to(
    conn: Conn, scheduler: Schedulers, asking: Asking
) -> None:
    me = scheduler()
    first, second = await start(conn, me, A, A)
    await conn.execute("INSERT INTO host (name, concurrency) VALUES ('*.example', 1)")
    await me.tick(after_s=1.0)
    tasks = [await asking.ask(first["seq"], B), await asking.ask(second["seq"], B)]
    await me.tick(after_s=1.0)
    assert [await asking.is_permitted(task) for task in tasks] == [True, False]


@pytest.mark.req("NFR-6")
@pytest.mark.case("S24")
@pytest.mark.parametrize("end_lease", ["report", "sweep"])
async def test_a_permit_ends_with_its_lease_and_its_slot_is_free_again(
    conn: Conn, scheduler: Schedulers, asking: Asking, end_lease: str
) -> None:
    me = scheduler(default=ONE)
    (row,) = await start(conn, me, A)
    task = await asking.ask(row["seq"], B)
    await me.tick()
    assert await asking.is_permitted(task)
    behind = await make_job(conn, host=B)
    await me.tick()
    assert await where(conn, behind.id) == ("queued", "queued")
    if end_lease == "report":
        await end(conn, row, STORED)
    else:
        await conn.execute("UPDATE lease SET expires_at = clock_timestamp() - interval '1 second'")
        await run_async(conn, tell(ended(row, Lost(), expired_only=True)))
    assert await count(conn, "permit") == 0
    await me.tick()
    assert await where(conn, behind.id) == ("queued", "ready")


@pytest.mark.req("NFR-6")
async def test_a_new_leader_counts_a_permitted_attempt_where_it_is_and_answers_those_that_wait(
    conn: Conn, scheduler: Schedulers, asking: Asking
) -> None:
    first, second = scheduler(name="a", default=ONE), scheduler(name="b", default=ONE)
    one_, two = await start(conn, first, A, "c.example")
    permitted = await asking.ask(one_["seq"], B)
    await first.tick()
    assert await asking.is_permitted(permitted)
    waits = await asking.ask(two["seq"], B)
    await take_lease_away(conn)
    second.ahead_s += 60.0  # its buckets are filling since its birth
    await second.tick(after_s=1.0)
    await second.tick(after_s=1.0)
    assert not await asking.is_permitted(waits)
    at_a = await make_job(conn, host=A)
    await second.tick(after_s=1.0)
    assert await where(conn, at_a.id) == ("queued", "ready")
    await end(conn, one_, STORED)
    await second.tick(after_s=1.0)
    assert await asking.is_permitted(waits)


@pytest.mark.req("NFR-6")
@pytest.mark.case("S23")
async def test_a_leader_whose_epoch_is_over_gives_no_permit(conn: Conn, scheduler: Schedulers, asking: Asking) -> None:
    first = scheduler(name="a", default=ONE)
    (row,) = await start(conn, first, A)
    task = await asking.ask(row["seq"], B)
    term = first.loop._term
    assert term is not None
    term._permitting.hear([(row["seq"], B)])
    await take_lease_away(conn)
    with pytest.raises(LeaseLost):
        await term._permitting.step()
    assert not await asking.is_permitted(task)


@pytest.mark.req("NFR-6")
async def test_an_old_permit_is_not_used_but_asked_for_anew(conn: Conn, scheduler: Schedulers, asking: Asking) -> None:
    me = scheduler(default=ONE)
    (row,) = await start(conn, me, A)
    task = await asking.ask(row["seq"], B)
    await me.tick()
    await conn.execute("UPDATE permit SET given_at = given_at - interval '3 seconds'")
    assert not await asking.is_permitted(task)
    await asking.loop.tick()
    assert (await one(conn, "SELECT n, given_at FROM permit")) == {"n": 2, "given_at": None}
    await me.tick()
    assert await asking.is_permitted(task)


@pytest.mark.req("NFR-4")
async def test_a_late_ask_changes_nothing_and_one_without_a_lease_leaves_nothing(conn: Conn) -> None:
    job = await make_job(conn, status="running")
    await run_async(conn, permits.ask([Asked(job.seq, B, 2), Asked(job.seq + 1000, B, 1)]))
    await conn.execute("UPDATE permit SET given_at = clock_timestamp()")
    await run_async(conn, permits.ask([Asked(job.seq, "late.example", 1)]))
    assert await rows(conn, "SELECT seq, host, n, given_at IS NULL AS waits FROM permit") == [
        {"seq": job.seq, "host": B, "n": 2, "waits": False}
    ]
    await run_async(conn, permits.ask([Asked(job.seq, "c.example", 3)]))
    assert await rows(conn, "SELECT host, n, given_at IS NULL AS waits FROM permit") == [
        {"host": "c.example", "n": 3, "waits": True}
    ]


@pytest.mark.req("NFR-6")
async def test_a_permit_whose_lease_ended_meanwhile_gives_its_slot_and_its_token_back(
    conn: Conn, scheduler: Schedulers, asking: Asking
) -> None:
    me = scheduler(default=HostLimits(0.01, 1.0, 1))
    await me.tick()
    me.ahead_s += 100.0  # a new leader's buckets are empty: a token in a hundred seconds
    one_, two = await start(conn, me, A, "c.example")
    await asking.ask(one_["seq"], B)
    waits = await asking.ask(two["seq"], B)
    term = me.loop._term
    assert term is not None
    term._permitting.hear([(one_["seq"], B), (two["seq"], B)])
    await end(conn, one_, STORED)
    await term._permitting.step()
    await me.tick()
    assert await asking.is_permitted(waits)


@pytest.mark.req("NFR-10")
async def test_asks_that_are_known_are_not_read_again(conn: Conn) -> None:
    job = await make_job(conn, status="running")
    await run_async(conn, permits.ask([Asked(job.seq, B, 1)]))
    assert (await run_async(conn, dispatch.outstanding([job.seq], alive_s=1.0))).asks == [(job.seq, B)]
    assert (await run_async(conn, dispatch.outstanding([job.seq], alive_s=1.0, known=[job.seq]))).asks == []


@pytest.mark.req("NFR-6")
async def test_a_rest_that_is_asked_for_after_a_redirect_is_given_to_the_host_that_asked(
    conn: Conn, scheduler: Schedulers, asking: Asking
) -> None:
    me = scheduler(default=ONE)
    (row,) = await start(conn, me, A)
    await asking.ask(row["seq"], B)
    await me.tick()
    told = await run_async(conn, tell(ended(row, failure("http_429", retry_after_s=60.0))))
    assert [one_["paused_host"] for one_ in told.values()] == [B]
    assert await rows(conn, "SELECT name FROM host WHERE paused_until > clock_timestamp()") == [{"name": B}]


# ---- with the worker's own loops and fetcher


@asynccontextmanager
async def redirecting(path: str = "/page") -> AsyncIterator[tuple[str, list[str]]]:
    """A target at 127.0.0.1 that redirects to another address; its URL, and what it saw: host and path."""
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(f"{request.host.partition(':')[0]}{request.path}")
        if request.path == "/away":
            raise web.HTTPFound(f"http://127.0.0.2:{port}{path}")
        return web.Response(text="there")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    await web.TCPSite(runner, "127.0.0.2", port).start()
    yield f"http://127.0.0.1:{port}/away", seen
    await runner.cleanup()


@asynccontextmanager
async def working(database_url: str, bus: Bus, store: ObjectStore) -> AsyncIterator[tuple[Worker, Asking]]:
    async with Link(database_url) as link:
        asking = Asking(link, bus)
        async with Worker(database_url, bus, FetchRunner(fetcher(), store, asking.loop.wait)) as worker:
            yield worker, asking


async def ticking(asking: Asking, condition: Callable[[], bool]) -> None:
    async def look() -> bool:
        await asking.loop.tick()
        return condition()

    await until(look)


@pytest.mark.req("NFR-6")
@pytest.mark.req("FR-8")
async def test_nothing_is_sent_to_the_next_host_before_its_permit(
    conn: Conn, scheduler: Schedulers, database_url: str, bus: Bus, store: ObjectStore
) -> None:
    me = scheduler()
    async with redirecting() as (url, seen), working(database_url, bus, store) as (worker, asking):
        job = await ready(conn, url)
        await worker.claimer.tick()
        await ticking(asking, lambda: bool(asking.loop._wishes))
        asks = await one(conn, "SELECT permit.host, seq = %s AS is_its_own FROM permit", job.seq)
        assert asks == {"host": "127.0.0.2", "is_its_own": True}
        assert seen == ["127.0.0.1/away"]
        await me.tick()
        await ticking(asking, lambda: not worker.slots.held)
        assert seen == ["127.0.0.1/away", "127.0.0.2/page"]
        assert await where(conn, job.id) == ("succeeded", None)
        assert await count(conn, "permit") == 0


@pytest.mark.req("FR-5")
@pytest.mark.req("P8")
@pytest.mark.parametrize(
    "broken", [(Break.CANCELLED, "cancelled"), (Break.DRAINED, "released"), (Break.LOST, None)], ids=lambda b: b[0].name
)
async def test_an_attempt_that_is_broken_off_stops_waiting_at_once(
    conn: Conn, database_url: str, bus: Bus, store: ObjectStore, broken: tuple[Break, str | None]
) -> None:
    why, outcome = broken
    async with redirecting() as (url, seen), working(database_url, bus, store) as (worker, asking):
        job = await ready(conn, url)
        await worker.claimer.tick()
        await ticking(asking, lambda: bool(asking.loop._wishes))
        if why is Break.CANCELLED:
            await conn.execute(
                "UPDATE job SET final_state = 'cancelled', finished_at = clock_timestamp() WHERE id = %s", [job.id]
            )
        worker.slots.held[job.seq].break_off(why)
        await worker.idle()
        assert asking.loop._wishes == {}
        assert seen == ["127.0.0.1/away"]
        told = await rows(conn, "SELECT outcome FROM attempt")
        assert told == ([{"outcome": outcome}] if outcome else [])
        assert await count(conn, "permit") == (0 if outcome else 1)  # else it goes when the lease is swept


@pytest.mark.req("NFR-6")
@pytest.mark.case("S11")
async def test_when_nobody_dispatches_the_attempt_ends_in_time_and_is_not_charged(
    conn: Conn, database_url: str, bus: Bus, store: ObjectStore
) -> None:
    async with redirecting() as (url, seen), working(database_url, bus, store) as (worker, asking):
        job = await ready(conn, url, params=encoded({"timeout_s": 0.5}))
        await worker.claimer.tick()
        await ticking(asking, lambda: not worker.slots.held)
        assert seen == ["127.0.0.1/away"]
    assert await where(conn, job.id) == ("queued", "delayed")
    assert await rows(conn, "SELECT outcome, code, charged FROM attempt") == [
        {"outcome": "temporary", "code": "no_permit", "charged": False}
    ]


def encoded(params: dict[str, object]) -> str:
    return msgspec.json.encode(PARAMS | params).decode()
