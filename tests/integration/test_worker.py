"""A worker's loops on a real target, a real object store and a real database."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_network
from typing import Any, Self

import msgspec
import pytest
from aiohttp import web

from scrapejobs.adapters.bus import Bus, SyncBus
from scrapejobs.adapters.fetcher import Fetcher, FetchLimits
from scrapejobs.adapters.storage import ObjectStore
from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.ids import object_key
from scrapejobs.domain.outcome import Lost, Outcome, Permanent, Released
from scrapejobs.store import transitions
from scrapejobs.store.link import Link
from scrapejobs.store.run import run_async
from scrapejobs.worker.claimer import Claimer
from scrapejobs.worker.lease_keeper import LeaseClock, LeaseKeeper
from scrapejobs.worker.reporter import Reporter
from scrapejobs.worker.runner import FetchRunner, Runner
from scrapejobs.worker.slots import Slots
from tests.chaos import troubles
from tests.chaos.proxy import proxy_to
from tests.integration.factories import (
    PARAMS,
    WORKER,
    Conn,
    Made,
    count,
    end_of,
    make_job,
    one,
    rows,
    tell,
    until,
    where,
)
from tests.integration.object_stores import object_store

LEASE_S = 30.0
POLL_S = 5.0


@dataclass
class Target:
    """A page that answers at once, one that hangs, and what they saw."""

    url: str = ""
    body: bytes = field(default_factory=lambda: os.urandom(70_000))
    hits: list[str] = field(default_factory=list)
    hanging: int = 0
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def page(self, request: web.Request) -> web.Response:
        self.hits.append(request.method)
        return web.Response(body=self.body, content_type="text/html")

    async def hang(self, request: web.Request) -> web.Response:
        self.hits.append(request.method)
        self.hanging += 1
        try:
            await self.let_go.wait()
        finally:
            self.hanging -= 1
        return web.Response(body=self.body)


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    target = Target()
    app = web.Application()
    app.router.add_route("*", "/page", target.page)
    app.router.add_route("*", "/hang", target.hang)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    target.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield target
    target.let_go.set()
    await runner.cleanup()


def fetcher() -> Fetcher:
    return Fetcher(
        FetchLimits(
            policy=EgressPolicy(allow=(ip_network("127.0.0.0/8"),), deny=()),
            dns_timeout_s=2.0,
            connect_timeout_s=2.0,
            max_redirects=3,
            max_header_bytes=8192,
            max_headers=100,
            max_headers_bytes=65_536,
            min_rate_bytes_s=0,
            min_rate_after_s=60.0,
            user_agent="test",
        )
    )


async def unlimited(_seq: int, _host: str) -> None:
    """A permit for every request."""


class Worker:
    """The loops of the worker role, ticked by hand but for the reporter, which ticks whenever it is woken."""

    def __init__(
        self, database_url: str, bus: Bus, runner: Runner, *, slots: int = 4, lease_s: float = LEASE_S
    ) -> None:
        self.links = [Link(database_url) for _ in range(3)]
        self.clock_s = 0.0
        self.slots = Slots(slots, clock=lambda: asyncio.get_running_loop().time() + self.clock_s)
        self.reporter = Reporter(self.links[0], bus, report=lambda ends: tell(*ends), signal=self._woken, poll_s=POLL_S)
        self.claimer = Claimer(
            self.links[1],
            self.slots,
            runner,
            self.reporter,
            worker_id=WORKER,
            worker="w",
            lease_s=lease_s,
            poll_s=POLL_S,
            signal=self._woken,
        )
        self.keeper = LeaseKeeper(self.links[2], self.slots, lease_s=lease_s, renew_s=lease_s / 3)
        self.lease_clock = LeaseClock(self.slots, lease_s=lease_s)
        self.told = asyncio.Event()
        self.failures: list[Exception] = []

    def _woken(self, topic: str) -> None:
        if topic == "report":
            self.told.set()

    async def report(self) -> None:
        """Ticks the reporter as the loop runner does: a failed tick is made again, and one that asks for it soon."""
        while True:
            await self.told.wait()
            self.told.clear()
            try:
                if await self.reporter.tick() < POLL_S:
                    asyncio.get_running_loop().call_later(0.02, self.told.set)
            except Exception as error:  # noqa: BLE001 - as the loop runner
                self.failures.append(error)
                self.told.set()
                await asyncio.sleep(0.02)

    async def idle(self) -> None:
        await until(lambda: not self.slots.held)

    async def __aenter__(self) -> Self:
        self._reporting = asyncio.create_task(self.report())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = {self._reporting, *(held.task for held in self.slots.held.values() if held.task)}
        while tasks:  # once is not enough: Python 3.11 can lose a cancel that meets an answer
            for task in tasks:
                task.cancel()
            _, tasks = await asyncio.wait(tasks, timeout=0.2)
        for link in self.links:
            await link.aclose()


@pytest.fixture
async def worker(conn: Conn, database_url: str, bus: Bus, store: ObjectStore) -> AsyncIterator[Worker]:
    async with Worker(database_url, bus, FetchRunner(fetcher(), store, unlimited)) as worker:
        yield worker


async def ready(conn: Conn, url: str, **columns: Any) -> Made:
    return await make_job(conn, place="ready", url=url, host="127.0.0.1", **columns)


@pytest.mark.req("FR-8")
@pytest.mark.req("NFR-4")
async def test_a_stored_result_equals_the_targets_bytes(
    conn: Conn, worker: Worker, store: ObjectStore, target: Target
) -> None:
    job = await ready(conn, f"{target.url}/page")
    await worker.claimer.tick()
    await worker.idle()
    row = await one(conn, "SELECT final_state, result_key, result_size, result_sha256 FROM job")
    assert row["final_state"] == "succeeded"
    assert row["result_size"] == len(target.body)
    assert row["result_sha256"] == hashlib.sha256(target.body).hexdigest()
    assert row["result_key"].endswith(f"/1/{job.id}/{job.seq}")
    assert await store.head(row["result_key"]) == len(target.body)
    attempt = await one(conn, "SELECT number, seq, outcome, charged, target_status FROM attempt")
    assert attempt == {"number": 1, "seq": job.seq, "outcome": "stored", "charged": True, "target_status": 200}
    assert target.hits == ["GET"]


@pytest.mark.req("NFR-10")
async def test_a_worker_claims_no_more_than_it_has_free_slots(conn: Conn, worker: Worker, target: Target) -> None:
    for _ in range(6):
        await ready(conn, f"{target.url}/hang")
    await worker.claimer.tick()
    await until(lambda: target.hanging == 4)
    await worker.claimer.tick()
    assert (await count(conn, "lease"), await count(conn, "ready")) == (4, 2)


@pytest.mark.req("NFR-3")
@pytest.mark.case("S2")
async def test_while_the_store_is_down_the_bytes_are_kept_and_not_fetched_again(
    conn: Conn, database_url: str, bus: Bus, target: Target, object_store_url: str
) -> None:
    with proxy_to(object_store_url) as proxy:
        store = object_store(proxy.url)
        async with Worker(database_url, bus, FetchRunner(fetcher(), store, unlimited)) as worker:
            proxy.bring(troubles.Unavailable())
            job = await ready(conn, f"{target.url}/page")
            await worker.claimer.tick()
            await until(lambda: proxy.counts["unavailable"] >= 2)
            assert await where(conn, job.id) == ("running", "lease")
            proxy.heal()
            await worker.idle()
        await store.close()
    row = await one(conn, "SELECT final_state, result_sha256 FROM job")
    assert row == {"final_state": "succeeded", "result_sha256": hashlib.sha256(target.body).hexdigest()}
    assert target.hits == ["GET"]


@pytest.mark.req("P3")
@pytest.mark.req("NFR-7")
async def test_a_store_that_is_down_past_the_deadline_ends_the_job_with_a_code_of_ours_and_no_charge(
    conn: Conn, database_url: str, bus: Bus, target: Target, object_store_url: str
) -> None:
    with proxy_to(object_store_url) as proxy:
        store = object_store(proxy.url)
        async with Worker(database_url, bus, FetchRunner(fetcher(), store, unlimited)) as worker:
            proxy.bring(troubles.Refuse())
            job = await ready(conn, f"{target.url}/page", deadline_s=1.0)
            await worker.claimer.tick()
            await worker.idle()
        await store.close()
    assert await where(conn, job.id) == ("failed", None)
    row = await one(conn, "SELECT error_class, error_code, attempts, result_key FROM job")
    assert row == {"error_class": "temporary", "error_code": "store_unavailable", "attempts": 0, "result_key": None}
    assert (await one(conn, "SELECT outcome, code, charged FROM attempt")) == {
        "outcome": "temporary",
        "code": "store_unavailable",
        "charged": False,
    }
    assert target.hits == ["GET"]


@pytest.mark.req("P3")
async def test_bytes_that_came_just_before_the_deadline_are_stored_after_it(
    conn: Conn, worker: Worker, target: Target
) -> None:
    job = await ready(conn, f"{target.url}/page", deadline_s=-1.0)
    await worker.claimer.tick()
    await worker.idle()
    assert await where(conn, job.id) == ("succeeded", None)


@pytest.mark.req("NFR-7")
async def test_a_job_whose_attempt_used_up_its_time_fails_now_and_not_at_its_deadline(
    conn: Conn, worker: Worker, target: Target
) -> None:
    params = msgspec.json.encode({**PARAMS, "timeout_s": 0.3}).decode()
    job = await ready(conn, f"{target.url}/hang", deadline_s=100.0, params=params)
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    worker.clock_s = 99.5  # the attempt takes so long: half a second is left, and the next try is 1 s away
    await worker.idle()
    assert await where(conn, job.id) == ("failed", None)
    assert (await one(conn, "SELECT error_code FROM job"))["error_code"] == "deadline_exceeded"


@pytest.mark.req("NFR-3")
@pytest.mark.req("P3")
async def test_a_report_whose_answer_was_lost_does_not_take_the_result_away(
    conn: Conn, database_url: str, bus: Bus, target: Target, store: ObjectStore
) -> None:
    with proxy_to(database_url) as proxy:
        async with Worker(proxy.url, bus, FetchRunner(fetcher(), store, unlimited)) as worker:
            proxy.bring(troubles.LoseAnswer(b"jsonb_to_recordset", times=1))
            await ready(conn, f"{target.url}/page")
            await worker.claimer.tick()
            await worker.idle()
            assert proxy.counts["lost"] == 1
    row = await one(conn, "SELECT final_state, result_key FROM job")
    assert row["final_state"] == "succeeded"
    assert await store.head(row["result_key"]) == len(target.body)
    assert await count(conn, "attempt") == 1


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancel_heard_over_the_bus_closes_the_connection_and_frees_the_slot(
    conn: Conn, worker: Worker, target: Target, redis_url: str
) -> None:
    job = await ready(conn, f"{target.url}/hang")
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    hearing = Bus(redis_url, on_wake=lambda _: None, on_cancel=worker.keeper.cancelled)
    listening = asyncio.create_task(hearing.listen())
    await until(lambda: hearing.connected)
    await run_async(conn, transitions.cancel(job.id, tenant_id=1))
    await asyncio.to_thread(SyncBus(redis_url).cancelled, job.id)
    await until(lambda: target.hanging == 0 and not worker.slots.held, within_s=2.0)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await hearing.aclose()
    assert await where(conn, job.id) == ("cancelled", None)
    assert (await one(conn, "SELECT outcome FROM attempt"))["outcome"] == "cancelled"


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_without_the_bus_the_row_tells_of_a_cancel_within_two_seconds(
    conn: Conn, worker: Worker, target: Target
) -> None:
    job = await ready(conn, f"{target.url}/hang")
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    assert await worker.keeper.tick() <= 1.0
    await run_async(conn, transitions.cancel(job.id, tenant_id=1))
    assert await worker.keeper.tick() <= 1.0
    await until(lambda: target.hanging == 0 and not worker.slots.held)
    assert await where(conn, job.id) == ("cancelled", None)


@pytest.mark.req("FR-5")
@pytest.mark.case("S24")
async def test_a_cancel_that_comes_before_the_attempts_first_step_frees_its_slot(
    conn: Conn, worker: Worker, target: Target
) -> None:
    job = await ready(conn, f"{target.url}/page")
    await worker.claimer.tick()
    worker.keeper.cancelled(job.id)  # the attempt's task has not run yet
    await worker.idle()
    assert await count(conn, "lease") == 0
    assert target.hits == []


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_the_result_of_a_job_that_was_cancelled_before_the_report_is_discarded(
    conn: Conn, worker: Worker, store: ObjectStore, target: Target
) -> None:
    job = await ready(conn, f"{target.url}/hang")
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    await run_async(conn, transitions.cancel(job.id, tenant_id=1))
    target.let_go.set()
    await worker.idle()
    assert await where(conn, job.id) == ("cancelled", None)
    day = (await one(conn, "SELECT (created_at AT TIME ZONE 'UTC')::date AS day FROM job"))["day"]
    assert await store.head(f"{day.isoformat()}/1/{job.id}/{job.seq}") is None


@pytest.mark.req("P4")
@pytest.mark.case("S9")
async def test_the_object_of_a_report_that_came_too_late_is_removed_at_once(
    conn: Conn, worker: Worker, store: ObjectStore, target: Target
) -> None:
    job = await ready(conn, f"{target.url}/hang")
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    (held,) = worker.slots.held.values()
    await run_async(conn, tell(end_of(Made(job.id, job.seq, 1, job.host, held.claimed), Lost())))
    target.let_go.set()
    await worker.idle()
    assert await where(conn, job.id) == ("queued", "queued")
    assert (await asyncio.to_thread(store.list_page, prefix=_prefix_of(job))).objects == ()
    assert await count(conn, "attempt") == 1


def _prefix_of(job: Made) -> str:
    return object_key(job_id=job.id, tenant_id=1, seq=job.seq).rpartition("/")[0]


@pytest.mark.req("NFR-4")
@pytest.mark.case("S9")
async def test_an_attempt_whose_lease_row_is_gone_is_broken_off(conn: Conn, worker: Worker, target: Target) -> None:
    job = await ready(conn, f"{target.url}/hang")
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    await conn.execute("UPDATE lease SET expires_at = clock_timestamp() - interval '1 second'")
    (held,) = worker.slots.held.values()
    await run_async(conn, tell(end_of(Made(job.id, job.seq, 1, job.host, held.claimed), Lost(), expired_only=True)))
    await worker.keeper.tick()
    await until(lambda: target.hanging == 0 and not worker.slots.held)
    assert await where(conn, job.id) == ("queued", "queued")
    assert await count(conn, "attempt") == 1


@pytest.mark.req("NFR-4")
@pytest.mark.case("S8")
async def test_a_worker_that_cannot_renew_stops_fetching_before_its_lease_ends(
    conn: Conn, worker: Worker, target: Target
) -> None:
    job = await ready(conn, f"{target.url}/hang")
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    await worker.lease_clock.tick()
    assert target.hanging == 1
    worker.clock_s = LEASE_S - 0.9  # by its own clock the lease still holds for 0.9 s
    await worker.lease_clock.tick()
    await until(lambda: target.hanging == 0 and not worker.slots.held)
    assert await rows(conn, "SELECT outcome, charged FROM attempt") == [{"outcome": "released", "charged": False}]
    assert await rows(conn, "SELECT lost, attempts FROM job") == [{"lost": 0, "attempts": 0}]
    assert await where(conn, job.id) == ("queued", "queued")


@pytest.mark.req("P4")
@pytest.mark.case("S8")
@pytest.mark.case("S9")
async def test_a_worker_that_stood_still_between_its_claim_and_its_first_step_sends_nothing(
    conn: Conn, worker: Worker, target: Target
) -> None:
    job = await ready(conn, f"{target.url}/page")
    await worker.claimer.tick()
    worker.clock_s = LEASE_S
    await worker.idle()
    assert target.hits == []
    assert await where(conn, job.id) == ("queued", "queued")
    assert await rows(conn, "SELECT outcome, charged FROM attempt") == [{"outcome": "released", "charged": False}]


@pytest.mark.req("P3")
@pytest.mark.req("P4")
@pytest.mark.case("S9")
async def test_a_put_that_lands_after_the_next_workers_touches_another_key(
    conn: Conn, database_url: str, *, bus: Bus, worker: Worker, target: Target, object_store_url: str
) -> None:
    with proxy_to(object_store_url) as proxy:
        slow_store = object_store(proxy.url)
        async with Worker(database_url, bus, FetchRunner(fetcher(), slow_store, unlimited)) as slow:
            proxy.bring(troubles.Hold())
            job = await ready(conn, f"{target.url}/page")
            await slow.claimer.tick()
            await until(lambda: proxy.counts["held"] > 0)
            (held,) = slow.slots.held.values()
            await run_async(conn, tell(end_of(Made(job.id, job.seq, 1, job.host, held.claimed), Lost())))
            target.body = b"what the second attempt saw"
            await conn.execute(_TO_READY)
            await worker.claimer.tick()
            await worker.idle()
            before = await one(conn, "SELECT job::text AS row, result_key, result_size FROM job")
            assert before["result_size"] == len(target.body)
            proxy.heal()
            await slow.idle()
        await slow_store.close()
    assert await one(conn, "SELECT job::text AS row, result_key, result_size FROM job") == before
    found = (await asyncio.to_thread(object_store(object_store_url).list_page, prefix=_prefix_of(job))).objects
    assert [(one_.key, one_.size) for one_ in found] == [(before["result_key"], len(target.body))]
    assert [row["outcome"] for row in await rows(conn, "SELECT outcome FROM attempt ORDER BY seq")] == [
        "lost",
        "stored",
    ]


_TO_READY = (
    "WITH gone AS (DELETE FROM queued RETURNING *) INSERT INTO ready (seq, job_id, priority, tenant_id, host)"
    " SELECT seq, job_id, priority, tenant_id, host FROM gone"
)


@pytest.mark.req("P4")
@pytest.mark.case("S8")
async def test_a_jump_of_the_wall_clock_ends_no_lease(
    conn: Conn, worker: Worker, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.slots.clock = Slots(1).clock  # as in a real worker
    wall = time.time
    job = await ready(conn, f"{target.url}/hang")
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    for jump_s in (3600.0, -3600.0):
        monkeypatch.setattr(time, "time", lambda jump_s=jump_s: wall() + jump_s)
        await worker.lease_clock.tick()
        await worker.keeper.tick()
    target.let_go.set()
    await worker.idle()
    assert await where(conn, job.id) == ("succeeded", None)
    assert target.hits == ["GET"]


@pytest.mark.req("NFR-7")
@pytest.mark.case("S8")
async def test_a_renewed_lease_is_trusted_from_when_it_was_asked_for(
    conn: Conn, worker: Worker, target: Target
) -> None:
    await ready(conn, f"{target.url}/hang")
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    before = (await one(conn, "SELECT expires_at FROM lease"))["expires_at"]
    worker.clock_s = LEASE_S - 2
    async with conn.transaction():
        await conn.execute("LOCK TABLE lease IN EXCLUSIVE MODE")
        renewing = asyncio.create_task(worker.keeper.tick())
        await until(partial(_waits_for, conn, "lease"))
        worker.clock_s += 10  # so long it took
    await renewing
    await worker.lease_clock.tick()
    assert target.hanging == 1
    assert (await one(conn, "SELECT expires_at FROM lease"))["expires_at"] > before
    worker.clock_s = 2 * LEASE_S - 3
    await worker.lease_clock.tick()
    await until(lambda: target.hanging == 0)


async def _waits_for(conn: Conn, table: str) -> bool:
    row = await one(conn, "SELECT count(*) AS n FROM pg_locks WHERE NOT granted AND relation = %s::regclass", table)
    return bool(row["n"])


@pytest.mark.req("NFR-7")
async def test_the_lease_of_an_attempt_that_waits_for_its_report_is_renewed_too(
    conn: Conn, worker: Worker, target: Target
) -> None:
    await ready(conn, f"{target.url}/page")
    async with conn.transaction():
        await worker.claimer.tick()
        await conn.execute("SELECT FROM job FOR UPDATE")  # the report has to wait
        await until(lambda: all(held.reporting for held in worker.slots.held.values()))
        before = (await one(conn, "SELECT expires_at FROM lease"))["expires_at"]
        worker.clock_s = LEASE_S / 3
        await worker.keeper.tick()
        assert (await one(conn, "SELECT expires_at FROM lease"))["expires_at"] > before
    await worker.idle()


@pytest.mark.req("NFR-7")
@pytest.mark.case("S11")
async def test_an_attempt_whose_job_somebody_holds_keeps_no_other_from_being_reported(
    conn: Conn, worker: Worker, target: Target
) -> None:
    held, other = [await ready(conn, f"{target.url}/page") for _ in range(2)]
    async with conn.transaction():
        await worker.claimer.tick()
        await conn.execute("SELECT FROM job WHERE id = %s FOR UPDATE", [held.id])
        await until(lambda: len(worker.slots.held) == 1)
        assert await where(conn, other.id) == ("succeeded", None)
        assert await where(conn, held.id) == ("running", "lease")
    await worker.idle()
    assert await where(conn, held.id) == ("succeeded", None)
    assert worker.failures == []
    assert len(target.hits) == 2


@pytest.mark.req("P8")
async def test_a_draining_worker_claims_nothing(conn: Conn, worker: Worker, target: Target) -> None:
    await ready(conn, f"{target.url}/page")
    await worker.claimer.drain(grace_s=1.0)
    await worker.claimer.tick()
    assert (await count(conn, "ready"), await count(conn, "lease")) == (1, 0)


@pytest.mark.req("NFR-7")
async def test_a_draining_worker_lets_go_what_ends_in_time_and_hands_the_rest_back_uncharged(
    conn: Conn, worker: Worker, target: Target
) -> None:
    job = await ready(conn, f"{target.url}/hang", attempts=2)
    await worker.claimer.tick()
    await until(lambda: target.hanging == 1)
    await ready(conn, f"{target.url}/page")
    await worker.claimer.drain(grace_s=0.05)
    await worker.claimer.tick()
    assert worker.slots.held == {}
    assert await where(conn, job.id) == ("queued", "queued")
    row = await one(conn, "SELECT attempts, lost FROM job WHERE id = %s", job.id)
    assert row == {"attempts": 2, "lost": 0}
    assert await rows(conn, "SELECT outcome, charged FROM attempt") == [{"outcome": "released", "charged": False}]
    assert (await one(conn, "SELECT front FROM queued"))["front"] is True
    assert await count(conn, "ready") == 1


@pytest.mark.req("NFR-7")
async def test_a_drain_ends_though_the_database_is_away(
    conn: Conn, database_url: str, bus: Bus, target: Target, store: ObjectStore
) -> None:
    with proxy_to(database_url) as proxy:
        async with Worker(proxy.url, bus, FetchRunner(fetcher(), store, unlimited)) as worker:
            await ready(conn, f"{target.url}/hang")
            await worker.claimer.tick()
            await until(lambda: target.hanging == 1)
            proxy.bring(troubles.Refuse())
            async with asyncio.timeout(5):
                await worker.claimer.drain(grace_s=0.05, report_s=0.2)
            assert target.hanging == 0


@pytest.mark.req("NFR-3")
@pytest.mark.case("S7")
async def test_outcomes_outlast_a_database_that_cuts_every_connection(
    conn: Conn, worker: Worker, target: Target
) -> None:
    jobs = [await ready(conn, f"{target.url}/hang") for _ in range(3)]
    await worker.claimer.tick()
    await until(lambda: target.hanging == 3)
    for link in worker.links:
        await link.conn()
    await conn.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )
    target.let_go.set()
    await worker.idle()
    assert [await where(conn, job.id) for job in jobs] == [("succeeded", None)] * 3
    assert target.hits == ["GET"] * 3
    assert worker.failures


class Faulty:
    """A runner with a bug that shows at one host, beside a sound one."""

    def __init__(self, sound: Runner, fault: Exception | Outcome) -> None:
        self._sound = sound
        self._fault = fault

    async def run(self, claimed: dict[str, Any]) -> Outcome:
        if claimed["host"] != "faulty.example":
            return await self._sound.run(claimed)
        if isinstance(self._fault, Exception):
            raise self._fault
        return self._fault

    async def forget(self, key: str) -> None:
        await self._sound.forget(key)


def _unreportable() -> list[Exception | Outcome]:
    return [ZeroDivisionError("a bug"), Permanent("http_404", "NUL \0"), Permanent("http_404", "lone \udce9")]


@pytest.mark.req("NFR-7")
@pytest.mark.case("S16")
@pytest.mark.parametrize("fault", _unreportable(), ids=["raises", "nul", "surrogate"])
async def test_a_bug_at_one_job_does_not_keep_the_worker_from_others(
    conn: Conn, database_url: str, *, bus: Bus, target: Target, store: ObjectStore, fault: Exception | Outcome
) -> None:
    runner = Faulty(FetchRunner(fetcher(), store, unlimited), fault)
    async with Worker(database_url, bus, runner) as worker:
        faulty = await make_job(conn, place="ready", host="faulty.example")
        job = await ready(conn, f"{target.url}/page")
        await worker.claimer.tick()
        await worker.idle()
    assert await where(conn, job.id) == ("succeeded", None)
    assert await where(conn, faulty.id) == ("queued", "delayed")
    row = await one(conn, "SELECT attempts, error_code FROM job WHERE id = %s", faulty.id)
    assert row == {"attempts": 0, "error_code": "worker_error"}


@pytest.mark.req("NFR-4")
async def test_a_method_that_may_have_an_effect_is_not_repeated(conn: Conn, worker: Worker, target: Target) -> None:
    params = msgspec.json.encode({**PARAMS, "method": "POST", "timeout_s": 2.0}).decode()
    job = await ready(conn, f"{target.url}/hang", params=params)
    await worker.claimer.tick()
    await worker.idle()
    assert target.hits == ["POST"]
    assert await where(conn, job.id) == ("failed", None)
    assert (await one(conn, "SELECT error_code FROM job"))["error_code"] == "timeout"


@pytest.mark.req("NFR-4")
def test_what_was_never_sent_may_be_handed_back_whatever_its_method() -> None:
    assert Released(sent=False) != Released()
