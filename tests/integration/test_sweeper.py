"""What fell out comes back: expired leases, due retries, jobs past their deadline."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import msgspec
import pytest
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.outcome import Lost
from scrapejobs.scheduler.sweeper import Promoter, Sweeper
from scrapejobs.store import transitions
from scrapejobs.store.link import Link
from scrapejobs.store.query import sql
from scrapejobs.store.run import run_async
from tests.integration.factories import (
    PARAMS,
    STORED,
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


def sweeper(link: Link, bus: Bus, clock: Callable[[], float] = lambda: 0.0) -> Sweeper:
    """Sweeps every 15 s; with renewals each 10 s, a silence is more than 20 s, and the living get 12 s after it."""
    return Sweeper(link, bus, report=lambda ends: tell(*ends), sweep_s=15.0, renew_s=10.0, recovery_s=12.0, clock=clock)


@pytest.mark.req("NFR-7")
@pytest.mark.case("S23")
async def test_a_job_whose_lease_ran_out_is_queued_again_at_the_front_and_uncharged(
    conn: Conn, link: Link, bus: Bus
) -> None:
    lost, kept = await make_job(conn, status="running", lease_s=-0.1), await make_job(conn, status="running")
    assert await sweeper(link, bus).tick() == 15.0
    assert await where(conn, lost.id) == ("queued", "queued")
    assert await where(conn, kept.id) == ("running", "lease")
    row = await one(conn, "SELECT attempts, lost, error_code, last_number FROM job WHERE id = %s", lost.id)
    assert row == {"attempts": 0, "lost": 1, "error_code": "lost_worker", "last_number": 1}
    entry = await one(conn, "SELECT seq, front FROM queued")
    assert entry["front"]
    assert entry["seq"] > lost.seq
    assert await rows(conn, "SELECT outcome, charged FROM attempt") == [{"outcome": "lost", "charged": False}]


@pytest.mark.req("NFR-7")
@pytest.mark.req("P9")
@pytest.mark.case("S7")
async def test_after_a_silence_living_workers_get_time_to_renew_or_report_before_they_count_as_lost(
    conn: Conn, link: Link, bus: Bus
) -> None:
    now = [0.0]
    loop = sweeper(link, bus, lambda: now[0])
    await loop.tick()
    dead, renews, reports = [await make_job(conn, status="running", lease_s=-0.1) for _ in range(3)]
    now[0] += 20.1  # 15 s were due, and half a renewal was borne
    assert await loop.tick() == 12.0
    assert await count(conn, "lease") == 3
    assert await run_async(conn, transitions.renew([renews.seq], lease_s=30.0)) == {renews.seq}
    assert set(await run_async(conn, tell(end_of(reports, STORED)))) == {reports.seq}
    now[0] += 11.0  # woken early: a second is left
    assert await loop.tick() == pytest.approx(1.0)
    assert await where(conn, dead.id) == ("running", "lease")
    now[0] += 1.0
    assert await loop.tick() == 15.0
    assert await where(conn, dead.id) == ("queued", "queued")
    assert await where(conn, renews.id) == ("running", "lease")
    assert await where(conn, reports.id) == ("succeeded", None)
    assert await rows(conn, "SELECT sum(lost) AS lost FROM job") == [{"lost": 1}]


@pytest.mark.req("P9")
@pytest.mark.parametrize("late_s", [0.0, 4.9])
async def test_with_no_silence_a_lost_worker_is_swept_at_once(conn: Conn, link: Link, bus: Bus, late_s: float) -> None:
    now = [0.0]
    loop = sweeper(link, bus, lambda: now[0])
    for _ in range(2):
        job = await make_job(conn, status="running", lease_s=-0.1)
        assert await loop.tick() == 15.0
        assert await where(conn, job.id) == ("queued", "queued")
        now[0] += 15.0 + late_s


@pytest.mark.req("NFR-7")
@pytest.mark.case("S10")
async def test_the_lease_counts_and_not_the_workers_row(conn: Conn, link: Link, bus: Bus) -> None:
    alive = await make_worker(conn, slots=5)
    held_by_dead = await make_job(conn, status="running")
    await conn.execute("DELETE FROM service WHERE id = %s", [alive])
    await make_worker(conn, slots=5, id_=UUID(int=9))  # restarted under the same name
    await sweeper(link, bus).tick()
    assert await where(conn, held_by_dead.id) == ("running", "lease")
    await conn.execute("UPDATE lease SET expires_at = clock_timestamp() - interval '1 ms'")
    await sweeper(link, bus).tick()
    assert await where(conn, held_by_dead.id) == ("queued", "queued")


@pytest.mark.req("NFR-7")
@pytest.mark.case("S16")
async def test_the_third_lost_worker_makes_a_job_poison(conn: Conn, link: Link, bus: Bus) -> None:
    job = await make_job(conn, status="running", lease_s=-0.1, lost=2)
    await sweeper(link, bus).tick()
    assert await where(conn, job.id) == ("failed", None)
    assert (await one(conn, "SELECT error_code FROM job"))["error_code"] == "poison"


@pytest.mark.req("NFR-4")
async def test_a_lost_job_that_could_act_twice_is_not_repeated(conn: Conn, link: Link, bus: Bus) -> None:
    params = msgspec.json.encode({**PARAMS, "method": "POST"}).decode()
    job = await make_job(conn, status="running", lease_s=-0.1, params=params)
    await sweeper(link, bus).tick()
    assert await where(conn, job.id) == ("failed", None)
    assert (await one(conn, "SELECT error_code FROM job"))["error_code"] == "lost_worker"


@pytest.mark.req("NFR-4")
@pytest.mark.case("S11")
async def test_two_sweepers_at_once_sweep_each_lease_once(conn: Conn, link: Link, bus: Bus, database_url: str) -> None:
    for _ in range(5):
        await make_job(conn, status="running", lease_s=-0.1)
    async with Link(database_url) as other:
        await asyncio.gather(sweeper(link, bus).tick(), sweeper(other, bus).tick())
    assert await count(conn, "queued") == await count(conn, "attempt") == 5
    assert await rows(conn, "SELECT DISTINCT lost FROM job") == [{"lost": 1}]


@pytest.mark.req("P9")
@pytest.mark.case("S11")
async def test_one_lost_job_that_cannot_be_reported_does_not_keep_the_others_from_being_swept(
    conn: Conn, link: Link, bus: Bus
) -> None:
    first, bad, last = [await make_job(conn, status="running", lease_s=-0.1) for _ in range(3)]
    await conn.execute(  # as nothing of ours would write it: the attempt is recorded already
        "INSERT INTO attempt (job_id, seq, number, worker, started_at, finished_at, outcome, charged)"
        " VALUES (%s, %s, 1, 'w', clock_timestamp(), clock_timestamp(), 'lost', false)",
        [bad.id, bad.seq],
    )
    assert await sweeper(link, bus).tick() == 15.0
    assert [await where(conn, job.id) for job in (first, last)] == [("queued", "queued")] * 2
    assert await where(conn, bad.id) == ("running", "lease")


@pytest.mark.req("P9")
@pytest.mark.case("S11")
async def test_a_lost_job_whose_parameters_nobody_can_read_is_swept_and_not_repeated(
    conn: Conn, link: Link, bus: Bus
) -> None:
    strange, sound = [await make_job(conn, status="running", lease_s=-0.1, params=p) for p in ("{}", "{}")]
    await conn.execute("UPDATE job SET params = %s WHERE id = %s", [msgspec.json.encode(PARAMS).decode(), sound.id])
    await sweeper(link, bus).tick()
    assert await where(conn, strange.id) == ("failed", None)
    assert await where(conn, sound.id) == ("queued", "queued")


@pytest.mark.req("NFR-4")
@pytest.mark.case("S9")
async def test_a_lease_that_was_renewed_meanwhile_is_not_swept(conn: Conn) -> None:
    job = await make_job(conn, status="running", lease_s=-0.1)
    late = tell(end_of(job, Lost(), expired_only=True))  # read as expired
    assert await run_async(conn, transitions.renew([job.seq], lease_s=30.0)) == {job.seq}
    assert await run_async(conn, late) == {}
    assert await where(conn, job.id) == ("running", "lease")


@pytest.mark.req("NFR-4")
async def test_a_sweep_that_meets_a_late_report_of_success_finds_nothing(conn: Conn, database_url: str) -> None:
    job = await make_job(conn, status="running", lease_s=-0.1)
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as worker:
        async with worker.transaction():
            await run_async(worker, tell(end_of(job, STORED)))
            early = await run_async(conn, tell(end_of(job, Lost(), expired_only=True)))
            assert [row["is_busy"] for row in early.values()] == [True]
        assert await run_async(conn, tell(end_of(job, Lost(), expired_only=True))) == {}
    assert await where(conn, job.id) == ("succeeded", None)


@pytest.mark.req("FR-13")
@pytest.mark.case("S18")
async def test_a_lease_past_its_end_is_counted_until_it_is_swept(conn: Conn, link: Link, bus: Bus) -> None:
    await make_job(conn, status="running", lease_s=-0.1)

    async def expired() -> float:
        (row,) = await (await conn.execute(sql("gauge/leases_expired"), {"now": None})).fetchall()
        return float(row["value"])

    assert await expired() == 1
    await sweeper(link, bus).tick()
    assert await expired() == 0


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
@pytest.mark.case("S23")
async def test_the_lease_of_a_cancelled_job_on_a_dead_worker_is_removed_and_nothing_is_retried(
    conn: Conn, link: Link, bus: Bus
) -> None:
    job = await make_job(conn, status="running", lease_s=-0.1)
    await run_async(conn, transitions.cancel(job.id, tenant_id=1))
    await sweeper(link, bus).tick()
    assert await where(conn, job.id) == ("cancelled", None)
    assert await count(conn, "queued") == 0


@pytest.mark.req("NFR-7")
@pytest.mark.req("P9")
@pytest.mark.case("S11")
async def test_a_job_that_somebody_holds_keeps_no_other_from_being_swept_or_from_expiring(
    conn: Conn, link: Link, bus: Bus
) -> None:
    lost = [await make_job(conn, status="running", lease_s=-0.1) for _ in range(2)]
    overdue = [await make_job(conn, deadline_s=-0.1) for _ in range(2)]
    held = [lost[0].id, overdue[0].id]
    loop = sweeper(link, bus)
    async with conn.transaction():
        await conn.execute("SELECT FROM job WHERE id = ANY (%s) ORDER BY id FOR UPDATE", [held])
        await loop.tick()
        assert [await where(conn, job.id) for job in lost] == [("running", "lease"), ("queued", "queued")]
        assert [await where(conn, job.id) for job in overdue] == [("queued", "queued"), ("failed", None)]
    await loop.tick()
    assert await where(conn, lost[0].id) == ("queued", "queued")
    assert await where(conn, overdue[0].id) == ("failed", None)


@pytest.mark.req("NFR-7")
@pytest.mark.case("S11")
async def test_only_a_jobs_own_deadline_fails_it_while_it_waits(conn: Conn, link: Link, bus: Bus) -> None:
    overdue = [await make_job(conn, place=place, deadline_s=-0.1) for place in ("queued", "delayed", "ready")]
    old = await make_job(conn)
    await conn.execute("UPDATE job SET created_at = created_at - interval '20 days' WHERE id = %s", [old.id])
    running = await make_job(conn, status="running", deadline_s=-0.1)
    await sweeper(link, bus).tick()
    assert [await where(conn, job.id) for job in overdue] == [("failed", None)] * 3
    assert await where(conn, old.id) == ("queued", "queued")
    assert await where(conn, running.id) == ("running", "lease")
    codes = await rows(conn, "SELECT DISTINCT error_code FROM job WHERE final_state = 'failed'")
    assert codes == [{"error_code": "deadline_exceeded"}]


@pytest.mark.req("NFR-7")
async def test_a_due_retry_goes_back_and_the_promoter_wakes_for_the_next(conn: Conn, link: Link, bus: Bus) -> None:
    due, later = await make_job(conn, place="delayed"), await make_job(conn, place="delayed")
    await conn.execute("UPDATE delayed SET due_at = clock_timestamp() WHERE job_id = %s", [due.id])
    await conn.execute(
        "UPDATE delayed SET due_at = clock_timestamp() + interval '7 seconds' WHERE job_id = %s", [later.id]
    )
    rest_s = await Promoter(link, bus, sweep_s=15.0).tick()
    assert 5.0 < rest_s <= 7.0
    assert await where(conn, due.id) == ("queued", "queued")
    assert await where(conn, later.id) == ("queued", "delayed")
