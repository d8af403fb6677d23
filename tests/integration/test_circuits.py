"""Circuit breakers of hosts: reports speak, the dispatcher weighs, and what it decided outlives it."""

import pytest
from psycopg.rows import DictRow

from scrapejobs.domain.outcome import Exchange, Outcome, failure
from scrapejobs.domain.picking import HostLimits
from scrapejobs.store import circuits, hosts
from scrapejobs.store.run import run_async
from tests.integration.factories import (
    STORED,
    TEMPORARY,
    Conn,
    count,
    end_of,
    make_job,
    make_worker,
    one,
    rows,
    tell,
    where,
)
from tests.integration.schedulers import CIRCUIT, Scheduler, Schedulers, claim, end, take_lease_away

HOST = "shop.example"
BAD = failure("http_500", exchange=Exchange("headers", elapsed_s=0.1, target_status=500))
BUSY = failure("http_429", exchange=Exchange("headers", elapsed_s=0.1, target_status=429))
GOOD = failure("http_404", exchange=Exchange("headers", elapsed_s=0.1, target_status=404))


async def run_one(conn: Conn, me: Scheduler, outcome: Outcome, *, host: str = HOST) -> None:
    """A job of the host starts and ends so. What it leaves for later is put aside."""
    await make_job(conn, host=host)
    await me.tick(after_s=0.6)
    (row,) = await claim(conn, 9)
    await end(conn, row, outcome)
    await conn.execute("DELETE FROM delayed")
    await conn.execute(
        "UPDATE job SET final_state = 'cancelled', finished_at = clock_timestamp() WHERE final_state IS NULL"
    )
    await me.tick(after_s=0.6)


async def wait_out(conn: Conn) -> None:
    """The circuits' time-outs are over."""
    await conn.execute("UPDATE circuit SET retry_at = clock_timestamp() - interval '1 ms' WHERE retry_at IS NOT NULL")


async def history(conn: Conn) -> list[DictRow]:
    return await rows(conn, "SELECT host, change, reason FROM circuit_change ORDER BY id")


async def opened(conn: Conn, me: Scheduler) -> None:
    for _ in range(CIRCUIT.error_threshold):
        await run_one(conn, me, BAD)


@pytest.mark.req("NFR-6")
@pytest.mark.req("FR-11")
async def test_after_failures_in_a_row_nothing_starts_at_the_host_and_others_go_on(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    me = scheduler()
    await opened(conn, me)
    assert await history(conn) == [{"host": HOST, "change": "opened", "reason": "http_500"}]
    remaining = await one(conn, "SELECT extract(epoch FROM retry_at - clock_timestamp())::float8 AS s FROM circuit")
    assert 50 < remaining["s"] <= CIRCUIT.timeout_s
    held, free = await make_job(conn, host=HOST), await make_job(conn, host="other.example")
    await me.tick(after_s=0.6)
    assert await where(conn, held.id) == ("queued", "queued")
    assert await where(conn, free.id) == ("queued", "ready")


@pytest.mark.req("NFR-6")
async def test_after_its_timeout_one_trial_at_a_time_goes_through_and_good_ones_close_it(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    me = scheduler()
    await opened(conn, me)
    jobs = [await make_job(conn, host=HOST) for _ in range(5)]
    await wait_out(conn)
    for n_trials in range(1, CIRCUIT.success_threshold + 1):
        for _ in range(3):
            await me.tick(after_s=0.6)
        assert await count(conn, "ready") == 1
        (trial,) = await claim(conn, 9)
        await end(conn, trial, GOOD)
        assert await count(conn, "attempt WHERE outcome = 'permanent'") == n_trials
    await me.tick(after_s=0.6)
    await me.tick(after_s=0.6)
    assert await count(conn, "ready") == len(jobs) - CIRCUIT.success_threshold
    assert [row["change"] for row in await history(conn)] == ["opened", "closed"]
    assert await count(conn, "circuit") == 0


@pytest.mark.req("NFR-6")
@pytest.mark.case("target-46")
@pytest.mark.case("S21")
async def test_a_busy_answer_holds_all_jobs_of_its_host_back_and_each_further_one_for_longer(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    me = scheduler()
    for rest_s in (1, 2, 4):
        await run_one(conn, me, BUSY)
        circuit = await one(
            conn,
            "SELECT extract(epoch FROM retry_at - (SELECT max(finished_at) FROM attempt))::float8 AS s,"
            " reason, failures FROM circuit",
        )
        assert circuit["s"] == pytest.approx(rest_s, abs=0.5)
        assert (circuit["reason"], circuit["failures"]) == ("http_429", 0)
        held, free = await make_job(conn, host=HOST), await make_job(conn, host="other.example")
        await me.tick()
        assert await where(conn, held.id) == ("queued", "queued")
        assert await where(conn, free.id) == ("queued", "ready")
        await conn.execute("DELETE FROM queued")
        await conn.execute("DELETE FROM ready")
        await wait_out(conn)
        await me.tick(after_s=61.0)
    for _ in range(CIRCUIT.success_threshold):
        await run_one(conn, me, GOOD)
    assert await count(conn, "circuit") == 0


@pytest.mark.req("NFR-6")
async def test_a_bad_trial_opens_it_at_once_for_the_whole_time(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    me = scheduler()
    await opened(conn, me)
    await wait_out(conn)
    await run_one(conn, me, BAD)
    remaining = await one(conn, "SELECT extract(epoch FROM retry_at - clock_timestamp())::float8 AS s FROM circuit")
    assert 50 < remaining["s"] <= CIRCUIT.timeout_s
    assert [row["change"] for row in await history(conn)] == ["opened", "opened"]


@pytest.mark.req("NFR-6")
async def test_an_open_circuit_survives_a_change_of_dispatcher_and_so_does_the_count(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    first, second = scheduler(name="a"), scheduler(name="b")
    for _ in range(CIRCUIT.error_threshold - 1):
        await run_one(conn, first, BAD)
    await take_lease_away(conn)
    await second.tick()
    await run_one(conn, second, BAD)
    assert [row["change"] for row in await history(conn)] == ["opened"]
    await take_lease_away(conn)
    third = scheduler(name="c")
    held = await make_job(conn, host=HOST)
    await third.tick()
    await third.tick(after_s=0.6)
    assert await where(conn, held.id) == ("queued", "queued")


@pytest.mark.req("FR-11")
async def test_an_operator_closes_it_and_that_holds_within_a_second(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    me = scheduler()
    await opened(conn, me)
    held = await make_job(conn, host=HOST)
    await me.tick(after_s=0.6)
    assert await run_async(conn, circuits.reset(HOST))
    assert not await run_async(conn, circuits.reset(HOST))
    await me.tick(after_s=0.6)
    assert await where(conn, held.id) == ("queued", "ready")
    assert (await history(conn))[-1] == {"host": HOST, "change": "closed", "reason": "operator"}


@pytest.mark.req("NFR-6")
async def test_of_a_host_that_is_well_nothing_is_written(conn: Conn) -> None:
    jobs = [await make_job(conn, status="running") for _ in range(3)]
    await run_async(conn, tell(end_of(jobs[0], STORED)))
    assert await count(conn, "host_sign") == 0
    bad, good = end_of(jobs[1], BAD), end_of(jobs[2], STORED)
    await run_async(conn, tell(bad))
    await run_async(conn, tell(good))
    assert [row["is_good"] for row in await rows(conn, "SELECT is_good FROM host_sign ORDER BY id")] == [False, True]


@pytest.mark.req("NFR-6")
async def test_a_dispatcher_whose_epoch_is_over_weighs_nothing(conn: Conn) -> None:
    job = await make_job(conn, status="running")
    await run_async(conn, tell(end_of(job, BAD)))
    assert await run_async(conn, circuits.weigh_signs(epoch=99, policy=CIRCUIT)) == []
    assert await count(conn, "host_sign") == 1


@pytest.mark.req("NFR-6")
async def test_a_time_out_of_a_job_without_patience_says_nothing(conn: Conn) -> None:
    job = await make_job(conn, status="running")
    await run_async(conn, tell(end_of(job, TEMPORARY)))
    assert await count(conn, "host_sign") == 0


@pytest.mark.req("NFR-6")
@pytest.mark.req("FR-11")
@pytest.mark.case("S21")
async def test_a_host_that_asks_for_less_is_given_half_its_rate_by_every_dispatcher_until_it_answers_well(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=100)
    limits = HostLimits(rate=1.0, burst=8.0, concurrency=100)
    first, second = scheduler(name="a", default=limits, learns=True), scheduler(name="b", default=limits, learns=True)
    await first.tick()
    first.ahead_s += 100.0  # a new leader's buckets are empty
    asked = failure("http_429", retry_after_s=1e-3, exchange=Exchange("headers", elapsed_s=0.1, target_status=429))
    await run_one(conn, first, asked)
    assert [row["share"] for row in await rows(conn, "SELECT share FROM circuit")] == [0.5]
    assert [row["learned_share"] for row in await run_async(conn, hosts.listing()) if row["learned_share"]] == [0.5]
    assert await history(conn) == []  # it said for how long: it is not down
    await take_lease_away(conn)
    await second.tick()
    for _ in range(20):
        await make_job(conn, host=HOST)
    await second.tick(after_s=100.0)
    await second.tick()
    assert await count(conn, "ready") == 4  # half the burst, and half the rate
    assert await run_async(conn, circuits.reset(HOST))
    assert await count(conn, "circuit") == 0
