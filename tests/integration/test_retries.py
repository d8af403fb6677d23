"""What the planner decides, as rows: the host's rest, the counted attempts, the time of the retry."""

import pytest

from scrapejobs.domain.outcome import Lost, Temporary
from scrapejobs.store.run import run_async
from tests.integration.factories import Conn, end_of, make_job, one, tell, where

BUSY = "SELECT extract(epoch FROM paused_until - clock_timestamp())::float8 AS rest_s, pause_reason FROM host"


def asked(rest_s: float | None) -> Temporary:
    return Temporary("http_429", "the target answered 429", "headers", retry_after_s=rest_s)


@pytest.mark.req("NFR-6")
@pytest.mark.case("S21")
async def test_of_several_rests_that_a_host_asks_for_the_longest_counts(conn: Conn) -> None:
    jobs = [await make_job(conn, status="running") for _ in range(3)]
    together, later = jobs[:2], jobs[2]
    await run_async(conn, tell(*(end_of(job, asked(s)) for job, s in zip(together, (600.0, 30.0), strict=True))))
    row = await one(conn, BUSY)
    assert 590 < row["rest_s"] <= 600
    await run_async(conn, tell(end_of(later, asked(60.0))))
    assert 590 < (await one(conn, BUSY))["rest_s"] <= 600


@pytest.mark.req("NFR-6")
async def test_retry_after_does_not_shorten_a_persons_pause(conn: Conn) -> None:
    job = await make_job(conn, status="running")
    await conn.execute(
        "INSERT INTO host (name, paused_until, pause_reason) VALUES (%s, '2999-01-01Z', 'operator')", [job.host]
    )
    await run_async(conn, tell(end_of(job, asked(60.0))))
    row = await one(conn, BUSY)
    assert (row["rest_s"] > 1e9, row["pause_reason"]) == (True, "operator")


@pytest.mark.req("NFR-6")
@pytest.mark.parametrize(("rest_s", "due_s"), [(None, 1.0), (0.5, 1.0), (60.0, 60.0), (90_000.0, 3600.0)])
async def test_a_retry_is_due_when_both_the_host_and_our_own_backoff_allow_it(
    conn: Conn, rest_s: float | None, due_s: float
) -> None:
    job = await make_job(conn, status="running", deadline_s=86_400.0)
    await run_async(conn, tell(end_of(job, asked(rest_s))))
    row = await one(conn, "SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS in_s FROM delayed")
    assert due_s - 1.0 < row["in_s"] <= due_s


@pytest.mark.req("NFR-7")
async def test_faults_of_ours_and_lost_workers_leave_the_jobs_attempts_alone(conn: Conn) -> None:
    for outcome, counted in (
        (Temporary("worker_error", "d", "body"), (0, 0)),
        (Temporary("store_unavailable", "d", "body"), (0, 0)),
        (Lost(), (0, 1)),
        (asked(None), (1, 0)),
    ):
        job = await make_job(conn, status="running", max_attempts=2)
        await run_async(conn, tell(end_of(job, outcome)))
        row = await one(conn, "SELECT attempts, lost FROM job WHERE id = %s", job.id)
        assert (row["attempts"], row["lost"]) == counted
        assert (await where(conn, job.id))[0] == "queued"
