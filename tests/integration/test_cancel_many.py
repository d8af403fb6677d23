"""Cancelling many jobs at once, by command: what it chooses, what it leaves, how it stops, and what it races."""

import asyncio
import io
import os
import signal
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.store import cancellation
from scrapejobs.store.models import Job
from scrapejobs.store.run import run_async
from tests.integration import factories
from tests.integration.factories import Conn
from tests.integration.world import Client, make_client, make_job

STATES = ("unpublished", "queued", "delayed", "running", "succeeded", "failed", "cancelled")


@pytest.fixture
def acme(db: None) -> Client:
    return make_client("acme")


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("jobs", "cancel", *arguments, stdout=out)
    return out.getvalue()


def state(job_id: UUID) -> str | None:
    return Job.objects.get(pk=job_id).final_state


@pytest.mark.req("FR-5")
def test_all_unfinished_jobs_are_cancelled_wherever_they_are_and_final_ones_stay(acme: Client):
    jobs = {name: make_job(acme, name) for name in STATES}
    assert said("--all") == "4 cancelled\n"
    assert {name: state(job) for name, job in jobs.items()} == {
        **dict.fromkeys(("unpublished", "queued", "delayed", "running", "cancelled"), "cancelled"),
        "succeeded": "succeeded",
        "failed": "failed",
    }
    assert said("--all") == "0 cancelled\n"


@pytest.mark.req("FR-5")
@pytest.mark.parametrize(
    ("filters", "n"),
    [
        (("--host", "A.example"), 1),
        (("--tenant", "other"), 1),
        (("--priority", "high"), 1),
        (("--tag", "run=7"), 2),
        (("--tag", "run=7", "--tag", "kind=x"), 1),
        (("--status", "running"), 1),
        (("--status", "queued"), 3),
        (("--status", "all"), 4),
        (("--since", "2999-01-01"), 0),
        (("--until", "2999-01-01"), 4),
        (("--until", "2020-01-01"), 0),
        (("--limit", "2"), 2),
    ],
)
def test_filters_choose_what_is_cancelled(acme: Client, filters: tuple[str, ...], n: int):
    make_job(acme, "queued", host="a.example", tags={"run": "7", "kind": "x"})
    make_job(acme, "queued", host="b.example", tags={"run": "7"}, priority=0)
    make_job(make_client("other"), "unpublished", host="c.example")
    make_job(acme, "running", host="d.example")
    assert said(*filters) == f"{n} cancelled\n"
    assert Job.objects.filter(final_state="cancelled").count() == n


@pytest.mark.req("FR-5")
@pytest.mark.parametrize("arguments", [(), ("--all", "--host", "a.example")])
def test_it_must_be_said_which(acme: Client, arguments: tuple[str, ...]):
    job = make_job(acme, "queued")
    with pytest.raises(CommandError, match="say which") as caught:
        said(*arguments)
    assert (caught.value.returncode, state(job)) == (2, None)


@pytest.mark.req("FR-5")
def test_ids_that_are_not_unfinished_are_named_and_the_others_cancelled(acme: Client):
    job, final = make_job(acme, "queued"), make_job(acme, "succeeded")
    with pytest.raises(CommandError, match=str(final)):
        said(str(job), str(final))
    assert (state(job), state(final)) == ("cancelled", "succeeded")


def in_bulk(client: Client, n: int) -> None:
    """`n` jobs that wait, made by one statement."""
    first = make_job(client, "queued")
    columns = [c.column for c in Job._meta.concrete_fields if c.column != "id"]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO job (id, {', '.join(columns)}) SELECT (left(%(id)s, 24) || lpad(to_hex(i), 12, '0'))::uuid,"  # noqa: S608
            f" {', '.join(columns)} FROM job, generate_series(1, %(n)s) i WHERE id = %(id)s::uuid",
            {"id": str(first), "n": n - 1},
        )
        cursor.execute(
            "INSERT INTO queued (job_id, priority, tenant_id, host) SELECT id, priority, tenant_id, host FROM job"
            " WHERE id <> %s",
            [first],
        )


@pytest.mark.case("S20")
@pytest.mark.req("FR-5")
def test_ctrl_c_stops_ten_thousand_after_a_batch_and_the_same_command_goes_on(acme: Client):
    in_bulk(acme, 10_000)
    Interrupting.batches = 3
    out = io.StringIO()
    with pytest.raises(CommandError, match="same command again") as caught, Interrupting.at_batches():
        call_command("jobs", "cancel", "--tenant", "acme", stdout=out)
    n_first = Job.objects.filter(final_state="cancelled").count()
    assert (caught.value.returncode, out.getvalue()) == (130, f"{n_first} cancelled\n")
    assert 0 < n_first < 10_000
    assert n_first % cancellation.BATCH == 0
    assert said("--tenant", "acme") == f"{10_000 - n_first} cancelled\n"


class Interrupting:
    """Sends this process a real Ctrl-C once so many batches have written their rows."""

    batches = 0

    @classmethod
    def at_batches(cls) -> Any:
        left = cls.batches

        def count(execute: Any, text: Any, params: Any, many: bool, context: Any) -> Any:
            nonlocal left
            answer = execute(text, params, many, context)
            if "SET final_state = 'cancelled'" in str(text):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGINT)
            return answer

        return connection.execute_wrapper(count)


@pytest.fixture
async def other(conn: Conn, database_url: str) -> AsyncIterator[Conn]:
    """A second connection."""
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as other:
        yield other


@pytest.mark.req("P7")
@pytest.mark.case("S20")
async def test_a_job_that_is_dispatched_meanwhile_is_met_in_ready(conn: Conn, other: Conn):
    await factories.make_tenant(conn)
    jobs = [await factories.make_job(conn) for _ in range(3)]
    async with conn.transaction():
        await conn.execute(
            "WITH gone AS (DELETE FROM queued WHERE job_id = %s RETURNING *) INSERT INTO ready"
            " (seq, job_id, priority, tenant_id, host) SELECT seq, job_id, priority, tenant_id, host FROM gone",
            [jobs[1].id],
        )
        cancelling = asyncio.ensure_future(run_async(other, cancellation.cancel_all([job.id for job in jobs])))

        async def waits() -> bool:
            row = await factories.one(
                conn, "SELECT cardinality(pg_blocking_pids(%s)) > 0 AS waits", other.info.backend_pid
            )
            return bool(row["waits"])

        await factories.until(waits)
    assert sorted((await cancelling).ids) == sorted(job.id for job in jobs)
    await factories.check_places(conn)
    assert await factories.count(conn, "ready") == 0
