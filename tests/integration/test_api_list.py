"""GET /jobs: filters, and pages that lose and double nothing."""

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from django.db import connection

from scrapejobs.domain.ids import uuid7
from scrapejobs.domain.job import Status
from scrapejobs.store import jobs
from scrapejobs.store.jobs import JobFilter
from scrapejobs.store.query import sql
from tests.integration.world import PARAMS, Client, call, make_client, make_job, one

pytestmark = [pytest.mark.django_db, pytest.mark.req("FR-6")]


@pytest.fixture
def a(db: None) -> Client:
    return make_client("a")


def ids(client: Client, query: str) -> list[str]:
    reply = call("GET", f"/jobs?{query}", key=client.key)
    assert reply.status == 200, reply.content
    return [job["id"] for job in reply.json["items"]]


@pytest.mark.parametrize("status", ["queued", "running", "succeeded", "failed", "cancelled"])
def test_jobs_are_found_by_status(a: Client, status: str) -> None:
    made = {
        state: str(make_job(a, state)) for state in ("running", "succeeded", "failed", "cancelled", "queued", "delayed")
    }
    expected = {made[status], made["delayed"]} if status == "queued" else {made[status]}
    assert set(ids(a, f"status={status}")) == expected


def test_a_cancelled_job_that_holds_its_lease_is_not_running(a: Client) -> None:
    job_id = make_job(a, "running")
    call("POST", f"/jobs/{job_id}/cancel", key=a.key)
    assert ids(a, "status=running") == []
    assert ids(a, "status=cancelled") == [str(job_id)]


def test_filters_narrow_together(a: Client) -> None:
    wanted = make_job(a, host="shop.example", priority=0, tags={"run": "1", "x": "y"})
    make_job(a, host="shop.example", priority=0, tags={"run": "2"})
    make_job(a, host="shop.example", priority=1, tags={"run": "1", "x": "y"})
    make_job(a, host="other.example", priority=0, tags={"run": "1", "x": "y"})
    assert ids(a, "host=Shop.Example.&priority=high&tag.run=1&tag.x=y") == [str(wanted)]


@pytest.mark.parametrize("moment", ["2000-01-01T00:00:00+23:59", "2100-01-01T00:00:00-23:59", "0001-01-01T00:00:00Z"])
def test_a_time_of_any_offset_is_understood(a: Client, moment: str) -> None:
    job_id = make_job(a)
    name = "created_before" if moment.startswith("21") else "created_after"
    assert ids(a, f"{name}={quote(moment)}") == [str(job_id)]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"])
@pytest.mark.parametrize("name", ["created_after", "created_before"])
def test_a_time_beyond_the_calendar_is_refused(a: Client, name: str, moment: str) -> None:
    reply = call("GET", f"/jobs?{name}={quote(moment)}", key=a.key)
    assert (reply.status, reply.json["errors"][0]["pointer"]) == (400, f"?{name}")


def test_times_narrow_by_creation(a: Client) -> None:
    job_id = make_job(a)
    created_at: datetime = one("SELECT created_at FROM job WHERE id = %s", job_id)

    def found(name: str, moment: datetime) -> bool:
        return ids(a, f"{name}={quote(moment.isoformat())}") == [str(job_id)]

    tick = timedelta(microseconds=1)
    assert found("created_after", created_at - tick)
    assert not found("created_after", created_at)
    assert found("created_before", created_at + tick)
    assert not found("created_before", created_at)
    assert found("created_after", datetime(2, 1, 1, tzinfo=UTC))
    assert found("created_before", datetime(9999, 12, 31, tzinfo=UTC))


def _insert(client: Client, first: int, count: int, *, final_state: str | None = None) -> list[str]:
    """Jobs of one millisecond, told apart by their random bits alone."""
    ms = int(datetime.now(UTC).timestamp() * 1000)
    made = [str(uuid7(unix_ms=ms, random_bits=(first + i) << 20)) for i in range(count)]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO job (id, tenant_id, priority, url, host, params, max_attempts, created_at, deadline_at, "
            "final_state, finished_at) "
            "SELECT id, %s, 1, 'https://www.example.com/', 'www.example.com', %s, 5, '2026-12-01', '2100-01-01', "
            "%s::text, CASE WHEN %s::text IS NOT NULL THEN now() END FROM unnest(%s::uuid[]) id",
            [client.tenant_id, json.dumps(PARAMS), final_state, final_state, made],
        )
    return made


@pytest.mark.case("S17")
@pytest.mark.parametrize(
    "wanted",
    [
        JobFilter(),
        JobFilter(status=Status.QUEUED),
        JobFilter(status=Status.RUNNING),
        JobFilter(status=Status.SUCCEEDED),
        JobFilter(host="none.example"),
    ],
    ids=str,
)
def test_many_finished_jobs_do_not_slow_a_page(a: Client, wanted: JobFilter) -> None:
    _insert(make_client("b"), 1, 5000)  # so that unfinished jobs look common
    _insert(a, 10_000, 10_000, final_state="cancelled")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE job")
        statement = next(jobs.page(wanted, tenant_id=a.tenant_id, below=None, limit=51).start())
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql(statement.name)}", statement.params)
        ((plan,),) = cursor.fetchall()
    root = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    assert root["Shared Hit Blocks"] + root["Shared Read Blocks"] < 300  # of the thousands that the rows take up


@pytest.mark.case("S14")
def test_pages_hold_each_job_of_the_start_exactly_once(a: Client) -> None:
    there = _insert(a, 1, 2500)
    seen: list[str] = []
    cursor, page = "", 0
    while cursor is not None:
        reply = call("GET", f"/jobs?limit=300{cursor and '&cursor=' + cursor}", key=a.key).json
        seen += [job["id"] for job in reply["items"]]
        cursor, page = reply["next_cursor"], page + 1
        _insert(a, 10_000 * page, 10)  # newer ones come in between
        with connection.cursor() as sql:  # one seen and changed, one seen and gone
            sql.execute("UPDATE job SET priority = 2 WHERE id = %s", [seen[-1]])
            sql.execute("DELETE FROM job WHERE id = %s", [seen[0]])
    assert sorted(set(seen) & set(there)) == sorted(there)
    assert len(seen) == len(set(seen))
    assert seen == sorted(seen, reverse=True)


@pytest.mark.case("S14")
def test_a_cursor_is_bound_to_its_filter(a: Client) -> None:
    for _ in range(3):
        make_job(a, priority=0)
    cursor = call("GET", "/jobs?limit=1&priority=high", key=a.key).json["next_cursor"]
    assert len(ids(a, f"limit=5&priority=high&cursor={cursor}")) == 2
    for query in ("", "&priority=low", "&priority=high&host=x.example", "&priority=high&tag.a=b"):
        reply = call("GET", f"/jobs?cursor={cursor}{query}", key=a.key)
        assert (reply.status, reply.problem) == (400, "invalid-cursor")
