"""Every state and place x every verb, on real Postgres: each moves a job exactly where the table says."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from scrapejobs.domain.job import TRANSITIONS, Status, targets
from scrapejobs.domain.outcome import Cancelled, Lost, Outcome, Released
from scrapejobs.store import dispatch, transitions, upkeep
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.reports import ended
from scrapejobs.store.run import run_async
from tests.integration.factories import (
    PERMANENT,
    STORED,
    TEMPORARY,
    Conn,
    Made,
    end_of,
    make_job,
    one,
    rows,
    tell,
    where,
)

Where = tuple[str, str | None]

SOURCES: tuple[Where, ...] = (
    ("queued", "unpublished"),
    ("queued", "queued"),
    ("queued", "delayed"),
    ("queued", "ready"),
    ("running", "lease"),
    ("succeeded", None),
    ("failed", None),
    ("cancelled", None),
    ("cancelled", "lease"),
)

MOVES: dict[tuple[str, Where], Where] = {
    ("publish", ("queued", "unpublished")): ("queued", "queued"),
    ("promote", ("queued", "delayed")): ("queued", "queued"),
    ("dispatch", ("queued", "queued")): ("queued", "ready"),
    ("take_back", ("queued", "ready")): ("queued", "queued"),
    ("hold_back", ("queued", "ready")): ("queued", "queued"),
    ("claim", ("queued", "ready")): ("running", "lease"),
    ("renew", ("running", "lease")): ("running", "lease"),
    ("report stored", ("running", "lease")): ("succeeded", None),
    ("report permanent", ("running", "lease")): ("failed", None),
    ("report temporary", ("running", "lease")): ("queued", "delayed"),
    ("report lost", ("running", "lease")): ("queued", "queued"),
    ("report released", ("running", "lease")): ("queued", "queued"),
    **{
        (f"report {outcome}", ("cancelled", "lease")): ("cancelled", None)
        for outcome in ("stored", "permanent", "temporary", "lost", "released", "cancelled")
    },
    ("cancel", ("queued", "unpublished")): ("cancelled", None),
    ("cancel", ("queued", "queued")): ("cancelled", None),
    ("cancel", ("queued", "delayed")): ("cancelled", None),
    ("cancel", ("queued", "ready")): ("cancelled", None),
    ("cancel", ("running", "lease")): ("cancelled", "lease"),
    ("expire", ("queued", "unpublished")): ("failed", None),
    ("expire", ("queued", "queued")): ("failed", None),
    ("expire", ("queued", "delayed")): ("failed", None),
    ("expire", ("queued", "ready")): ("failed", None),
    ("requeue", ("failed", None)): ("queued", "unpublished"),
    ("discard", ("failed", None)): ("failed", None),
}
"""Where a verb leads from a state and place; what is not here must change nothing."""

OUTCOMES: dict[str, Outcome] = {
    "stored": STORED,
    "permanent": PERMANENT,
    "temporary": TEMPORARY,
    "lost": Lost(),
    "released": Released(),
    "cancelled": Cancelled(),
}


async def _dispatch(conn: Conn, jobs: list[Made]) -> None:
    epoch = await run_async(conn, dispatch.take(holder="me", lease_s=5.0))
    assert epoch is not None
    await run_async(conn, dispatch.dispatch([job.seq for job in jobs], epoch=epoch))


async def _take_back(conn: Conn, jobs: list[Made]) -> None:
    epoch = await run_async(conn, dispatch.take(holder="me", lease_s=5.0))
    assert epoch is not None
    await run_async(conn, dispatch.take_back(epoch=epoch, ready_ttl_s=0.0))


async def _hold_back(conn: Conn, jobs: list[Made]) -> None:
    hosts = sorted({job.host for job in jobs})
    await conn.execute(
        "INSERT INTO host (name, paused_until) SELECT unnest(%s::text[]), clock_timestamp() + interval '1 day'"
        " ON CONFLICT (name) DO NOTHING",
        [hosts],
    )
    await run_async(conn, transitions.hold_back(hosts))


async def _publish(conn: Conn, jobs: list[Made]) -> None:
    await run_async(conn, transitions.publish(limit=100))


async def _promote(conn: Conn, jobs: list[Made]) -> None:
    await run_async(conn, transitions.promote(limit=100, now=datetime.now(UTC) + timedelta(days=1)))


async def _claim(conn: Conn, jobs: list[Made]) -> None:
    await run_async(conn, transitions.claim(worker_id=UUID(int=7), worker="w7", limit=100, lease_s=30.0))


async def _renew(conn: Conn, jobs: list[Made]) -> None:
    await run_async(conn, transitions.renew([job.seq for job in jobs], lease_s=30.0))


async def _cancel(conn: Conn, jobs: list[Made]) -> None:
    for job in jobs:
        await run_async(conn, transitions.cancel(job.id, tenant_id=job.tenant))


async def _expire(conn: Conn, jobs: list[Made]) -> None:
    for job in jobs:
        await run_async(conn, transitions.expire(job.id))


async def _requeue(conn: Conn, jobs: list[Made]) -> None:
    for job in jobs:
        await run_async(conn, transitions.requeue(job.id, tenant_id=job.tenant))


async def _discard(conn: Conn, jobs: list[Made]) -> None:
    await run_async(conn, transitions.discard_all([job.id for job in jobs]))


def _report(outcome: Outcome) -> Callable[[Conn, list[Made]], Awaitable[None]]:
    async def report(conn: Conn, jobs: list[Made]) -> None:
        await run_async(conn, tell(*(end_of(job, outcome) for job in jobs)))

    return report


VERBS: dict[str, Callable[[Conn, list[Made]], Awaitable[None]]] = {
    "publish": _publish,
    "promote": _promote,
    "dispatch": _dispatch,
    "take_back": _take_back,
    "hold_back": _hold_back,
    "claim": _claim,
    "renew": _renew,
    **{f"report {name}": _report(outcome) for name, outcome in OUTCOMES.items()},
    "cancel": _cancel,
    "expire": _expire,
    "requeue": _requeue,
    "discard": _discard,
}


@pytest.mark.req("NFR-4")
@pytest.mark.req("P2")
@pytest.mark.parametrize("verb", VERBS)
async def test_a_verb_moves_each_job_exactly_where_the_table_says(conn: Conn, verb: str) -> None:
    deadline_s = -1.0 if verb == "expire" else 3600.0
    jobs = [await make_job(conn, status=status, place=place, deadline_s=deadline_s) for status, place in SOURCES]
    await VERBS[verb](conn, jobs)
    found = {source: await where(conn, job.id) for source, job in zip(SOURCES, jobs, strict=True)}
    expected = {source: MOVES.get((verb, source), source) for source in SOURCES}
    if verb == "report cancelled":
        expected["running", "lease"] = ("queued", "queued")  # nobody cancelled it: it goes back, uncharged
    assert found == expected


@pytest.mark.req("P2")
def test_what_this_test_expects_and_the_table_of_transitions_say_the_same() -> None:
    arrows = {
        (verb.partition(" ")[0], source[0], target[0])
        for (verb, source), target in MOVES.items()
        if source[0] != "cancelled"
    }
    assert arrows == {(t.verb, t.source.value, t.target.value) for t in TRANSITIONS}


@pytest.mark.req("P2")
@pytest.mark.parametrize("status", ["succeeded", "cancelled"])
def test_no_verb_leads_out_of_a_final_state_but_requeue_and_discard_of_a_failed_job(status: str) -> None:
    assert all(not targets(Status(status), t.verb) for t in TRANSITIONS)
    assert {t.verb for t in TRANSITIONS if t.source is Status.FAILED} == {"requeue", "discard"}


FINISHED = "finished_at = clock_timestamp()"


WRONG_ROWS = {
    "queued": (
        "priority = 3",
        "priority = -1",
        f"final_state = 'done', {FINISHED}",
        "final_state = 'cancelled'",
        FINISHED,
        "finish_published_at = clock_timestamp()",
        f"final_state = 'succeeded', {FINISHED}",
        f"final_state = 'failed', {FINISHED}",
        "discarded_at = clock_timestamp()",
        "result_key = 'k', result_size = 1, result_sha256 = 's'",
    ),
    "succeeded": (
        "result_key = NULL",
        "result_size = NULL",
        "result_sha256 = NULL",
        "final_state = NULL, finished_at = NULL",
        "discarded_at = clock_timestamp()",
    ),
    "cancelled": ("finished_at = NULL",),
    "failed": ("error_code = NULL", "final_state = NULL, finished_at = NULL, discarded_at = clock_timestamp()"),
}


@pytest.mark.req("NFR-4")
@pytest.mark.parametrize("status", WRONG_ROWS)
async def test_the_database_refuses_a_row_that_no_state_allows(conn: Conn, status: str) -> None:
    job = await make_job(conn, status=status)
    for wrong in WRONG_ROWS[status]:
        with pytest.raises(psycopg.errors.CheckViolation):
            await conn.execute(f"UPDATE job SET {wrong} WHERE id = %s /* {status} */", [job.id])  # noqa: S608


@pytest.mark.req("NFR-4")
async def test_a_place_holds_a_job_only_once(conn: Conn) -> None:
    for place in ("queued", "delayed", "ready", "lease"):
        await _refuses_a_second(conn, place)


async def _refuses_a_second(conn: Conn, place: str) -> None:
    job = await make_job(conn, place=place)
    (row,) = await rows(conn, f"SELECT * FROM {place} WHERE job_id = %s", job.id)  # noqa: S608
    row |= {name: 999_999 for name in ("seq", "pos") if name in row}
    names = [name for name in row if name != "xid"]
    with pytest.raises(psycopg.errors.UniqueViolation):
        await conn.execute(
            f"INSERT INTO {place} ({', '.join(names)}) OVERRIDING SYSTEM VALUE"  # noqa: S608
            f" VALUES ({', '.join(['%s'] * len(names))})",
            [row[name] for name in names],
        )


@pytest.mark.req("FR-10")
@pytest.mark.case("S9")
async def test_a_requeued_job_starts_afresh_under_a_new_fence(conn: Conn) -> None:
    job = await make_job(conn, status="running", attempts=4, lost=2, last_number=6, max_attempts=5, deadline_s=3600.0)
    await conn.execute("UPDATE job SET deadline_s = 3600, created_at = created_at - interval '2 days'")
    await run_async(conn, tell(end_of(job, PERMANENT)))
    await run_async(conn, upkeep.finish([new_id()]))
    for _ in range(2):
        assert await run_async(conn, transitions.requeue(job.id, tenant_id=1)) == "requeued"
        row = await one(
            conn,
            "SELECT attempts, lost, finished_at, finish_published_at, discarded_at,"
            " extract(epoch FROM deadline_at - clock_timestamp())::float8 AS remaining_s FROM job",
        )
        assert 3590 < row.pop("remaining_s") <= 3600
        assert row == {
            "attempts": 0,
            "lost": 0,
            "finished_at": None,
            "finish_published_at": None,
            "discarded_at": None,
        }
        await run_async(conn, transitions.publish(limit=1))
        assert (await one(conn, "SELECT seq FROM queued"))["seq"] > job.seq
        await conn.execute("UPDATE job SET deadline_at = clock_timestamp() - interval '1 second'")
        assert await run_async(conn, transitions.expire(job.id))


@pytest.mark.req("FR-10")
@pytest.mark.req("NFR-5")
async def test_another_tenants_job_can_be_neither_cancelled_nor_requeued(conn: Conn) -> None:
    job, failed = await make_job(conn), await make_job(conn, status="failed")
    assert await run_async(conn, transitions.cancel(job.id, tenant_id=2)) is None
    assert await run_async(conn, transitions.requeue(failed.id, tenant_id=2)) is None
    assert await where(conn, job.id) == ("queued", "queued")
    assert await where(conn, failed.id) == ("failed", None)


@pytest.mark.req("NFR-4")
async def test_a_report_whose_fence_is_another_jobs_changes_neither(conn: Conn) -> None:
    job, other = await make_job(conn, status="running"), await make_job(conn, status="running")
    wrong = replace(end_of(job, STORED), seq=other.seq)
    await run_async(conn, tell(wrong))
    assert await where(conn, job.id) == ("running", "lease")
    assert await where(conn, other.id) == ("running", "lease")


@pytest.mark.req("NFR-4")
@pytest.mark.case("S9")
async def test_a_late_report_changes_nothing(conn: Conn) -> None:
    job = await make_job(conn, status="running", lease_s=-1.0)
    assert await run_async(conn, tell(end_of(job, Lost(), expired_only=True)))
    before = await one(conn, "SELECT * FROM job")
    assert await run_async(conn, tell(end_of(job, STORED))) == {}
    assert await one(conn, "SELECT * FROM job") == before
    assert [row["outcome"] for row in await rows(conn, "SELECT outcome FROM attempt")] == ["lost"]


@pytest.mark.req("NFR-4")
async def test_a_claim_takes_no_job_that_is_final_and_drops_its_entry(conn: Conn) -> None:
    job = await make_job(conn, place="ready")
    await conn.execute("UPDATE job SET final_state = 'cancelled', finished_at = clock_timestamp()")
    claim = transitions.claim(worker_id=UUID(int=7), worker="w7", limit=9, lease_s=30.0)
    assert await run_async(conn, claim) == []
    assert await where(conn, job.id) == ("cancelled", None)


@pytest.mark.req("NFR-10")
async def test_two_claims_at_once_take_different_jobs_without_waiting(conn: Conn, database_url: str) -> None:
    jobs = [await make_job(conn, place="ready") for _ in range(4)]
    claim = transitions.claim(worker_id=UUID(int=7), worker="w7", limit=2, lease_s=30.0)
    async with Link(database_url) as other, conn.transaction():
        first = {row["job_id"] for row in await run_async(conn, claim)}
        async with asyncio.timeout(30):
            second = {row["job_id"] for row in await other.run(claim)}
    assert len(first) == len(second) == 2
    assert first | second == {job.id for job in jobs}


@pytest.mark.req("NFR-7")
@pytest.mark.case("S16")
async def test_a_job_with_very_many_attempts_does_not_keep_others_from_being_claimed(conn: Conn) -> None:
    much_tried = await make_job(conn, place="ready", last_number=32_767)  # the greatest smallint
    other = await make_job(conn, place="ready")
    claimed = await run_async(conn, transitions.claim(worker_id=new_id(), worker="w", limit=10, lease_s=60.0))
    assert {row["job_id"]: row["number"] for row in claimed} == {much_tried.id: 32_768, other.id: 1}
    for made in (much_tried, other):
        row = next(row for row in claimed if row["job_id"] == made.id)
        await run_async(conn, tell(ended(row, TEMPORARY)))
    assert (await one(conn, "SELECT max(number) AS number FROM attempt"))["number"] == 32_768
