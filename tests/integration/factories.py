"""Jobs in every state and place, as plain functions, and what must be true of every job at any time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import msgspec
from psycopg import AsyncConnection

from scrapejobs.domain.outcome import Exchange, Outcome, Permanent, Stored, StoredResult, Temporary
from scrapejobs.domain.retry import RetryPolicy
from scrapejobs.store import transitions
from scrapejobs.store.ids import new_id
from scrapejobs.store.reports import Ended, ended
from scrapejobs.store.run import Verb

Conn = AsyncConnection[dict[str, Any]]

POLICY = RetryPolicy(base_s=2.0, cap_s=600.0, retry_after_cap_s=3600.0, max_lost=3)
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of b"test"
WORKER = UUID("018f0000-0000-7000-8000-000000000001")
PARAMS: dict[str, Any] = {
    "method": "GET",
    "headers": {},
    "query": {},
    "body": None,
    "json": None,
    "timeout_s": 30.0,
    "max_bytes": 1 << 20,
    "follow_redirects": True,
    "accept_statuses": [],
    "retry_unsafe": False,
    "expect": None,
}
PLACES = ("unpublished", "queued", "delayed", "ready", "lease")
STORED = Stored(
    StoredResult("2026-12-01/1/x/1", 4, SHA256, "text/plain", None, (), "http://shop.example/", 200, "yes"), Exchange()
)
TEMPORARY = Temporary("timeout", "the target did not answer in time", "headers")
PERMANENT = Permanent("http_404", "the target answered 404")


def today_utc() -> date:
    """The day whose partition a new job is in."""
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Made:
    """A job that was made; `seq` is the fence of its entry, or one that stands for nothing."""

    id: UUID
    seq: int
    tenant: int
    host: str
    claimed: dict[str, Any]


async def make_tenant(conn: Conn, *, id_: int = 1, weight: float = 1.0, max_running: int | None = None) -> int:
    secret = "whsec_" + "c2VjcmV0" * 4
    await conn.execute(
        "INSERT INTO tenant (id, name, weight, max_running, webhook_secret) VALUES (%s, %s, %s, %s, %s)",
        [id_, f"tenant {id_}", weight, max_running, secret],
    )
    return id_


async def make_worker(conn: Conn, *, slots: int, id_: UUID = WORKER, silent_s: float = 0.0) -> UUID:
    """A worker that was heard of `silent_s` seconds ago."""
    await conn.execute(
        "INSERT INTO service (id, role, name, hostname, pid, slots, seen_at)"
        " VALUES (%s, 'worker', 'w', 'here', 1, %s, clock_timestamp() - make_interval(secs => %s))",
        [id_, slots, silent_s],
    )
    return id_


async def make_job(
    conn: Conn,
    *,
    status: str = "queued",
    place: str | None = "queued",
    tenant: int = 1,
    host: str = "shop.example",
    priority: int = 1,
    url: str = "http://shop.example/",
    deadline_s: float = 3600.0,
    lease_s: float = 60.0,
    ready_s: float = 0.0,
    **columns: Any,
) -> Made:
    """A job with the columns that its state demands. `lease_s`: until its lease ends; `ready_s`: ready since."""
    final = status in ("succeeded", "failed", "cancelled")
    if final and place != "lease":
        place = None
    if status == "running":
        place = "lease"
    row: dict[str, Any] = {
        "id": new_id(),
        "tenant_id": tenant,
        "priority": priority,
        "url": url,
        "host": host,
        "params": msgspec.json.encode(PARAMS).decode(),
        "max_attempts": 5,
        **_of_state(status),
        **columns,
    }
    names = ", ".join(row)
    marks = ", ".join(["%s"] * len(row))
    published = "NULL" if place == "unpublished" else "clock_timestamp()"
    finished = "clock_timestamp()" if final else "NULL"
    await conn.execute(
        f"INSERT INTO job ({names}, deadline_at, published_at, finished_at) VALUES ({marks},"  # noqa: S608
        f" clock_timestamp() + make_interval(secs => %s), {published}, {finished})",
        [*row.values(), deadline_s],
    )
    seq = await put(conn, row, place, lease_s=lease_s, ready_s=ready_s)
    claimed = {
        "seq": seq,
        "job_id": row["id"],
        "number": 1,
        "tenant_id": tenant,
        "host": host,
        "url": url,
        "params": msgspec.json.decode(row["params"]),
        "attempts": row.get("attempts", 0),
        "lost": row.get("lost", 0),
        "max_attempts": row["max_attempts"],
        "remaining_s": deadline_s,
    }
    return Made(row["id"], seq, tenant, host, claimed)


def _of_state(status: str) -> dict[str, Any]:
    match status:
        case "succeeded":
            result = {"result_key": "2026-12-01/1/x/1", "result_size": 4, "result_sha256": SHA256}
            return {"final_state": "succeeded", **result}
        case "failed":
            error = {"error_class": "permanent", "error_code": "http_404", "error_detail": "the target answered 404"}
            return {"final_state": "failed", "attempts": 1, "last_number": 1, **error}
        case "cancelled":
            return {"final_state": "cancelled"}
        case _:
            return {}


async def put(
    conn: Conn, row: dict[str, Any], place: str | None, *, lease_s: float = 60.0, ready_s: float = 0.0
) -> int:
    """Puts a job into a place; the fence."""
    common = [row["id"], row["priority"], row["tenant_id"], row["host"]]
    entry = "job_id, priority, tenant_id, host"
    if place == "queued":
        cursor = await conn.execute(
            f"INSERT INTO queued ({entry}) VALUES (%s, %s, %s, %s) RETURNING seq",  # noqa: S608
            common,
        )
        return int((await cursor.fetchone() or {})["seq"])
    cursor = await conn.execute("SELECT nextval(pg_get_serial_sequence('queued', 'seq')) AS seq")
    seq = int((await cursor.fetchone() or {})["seq"])
    ago = "clock_timestamp() - make_interval(secs => %s)"
    ahead = "clock_timestamp() + make_interval(secs => %s)"
    if place == "delayed":
        await conn.execute(
            f"INSERT INTO delayed ({entry}, due_at) VALUES (%s, %s, %s, %s, {ahead})",  # noqa: S608
            [*common, 600.0],
        )
    if place == "ready":
        await conn.execute(
            f"INSERT INTO ready ({entry}, seq, ready_at) VALUES (%s, %s, %s, %s, %s, {ago})",  # noqa: S608
            [*common, seq, ready_s],
        )
    if place == "lease":
        await conn.execute(
            f"INSERT INTO lease ({entry}, seq, number, worker_id, worker, started_at, expires_at)"  # noqa: S608
            f" VALUES (%s, %s, %s, %s, %s, 1, %s, 'w', clock_timestamp(), {ahead})",
            [*common, seq, WORKER, lease_s],
        )
    return seq


def tell(*attempts: Ended) -> Verb[dict[int, dict[str, Any]]]:
    """The report verb with a fixed policy; the jitter is half of its range."""
    return transitions.report(attempts, policy=POLICY, random=lambda: 0.5)


def end_of(job: Made, outcome: Outcome, *, expired_only: bool = False) -> Ended:
    return ended(job.claimed, outcome, expired_only=expired_only)


async def one(conn: Conn, query: str, *params: Any) -> dict[str, Any]:
    """The only row of a query."""
    (row,) = await rows(conn, query, *params)
    return row


async def rows(conn: Conn, query: str, *params: Any) -> list[dict[str, Any]]:
    return await (await conn.execute(query, params)).fetchall()


async def count(conn: Conn, table: str) -> int:
    return int((await one(conn, f"SELECT count(*) AS n FROM {table}"))["n"])  # noqa: S608


_WHERE = """
SELECT job.id, job.final_state, array_remove(ARRAY[
    CASE WHEN published_at IS NULL AND final_state IS NULL THEN 'unpublished' END,
    (SELECT 'queued' FROM queued WHERE job_id = job.id),
    (SELECT 'delayed' FROM delayed WHERE job_id = job.id),
    (SELECT 'ready' FROM ready WHERE job_id = job.id),
    (SELECT 'lease' FROM lease WHERE job_id = job.id)], NULL) AS places
FROM job
"""


async def where(conn: Conn, job_id: UUID) -> tuple[str, str | None]:
    """A job's status and the one place that holds it, read from the tables themselves."""
    row = await one(conn, _WHERE + " WHERE job.id = %s", job_id)
    _check(row)
    (place,) = row["places"] or [None]
    return row["final_state"] or ("running" if place == "lease" else "queued"), place


async def check_places(conn: Conn) -> None:
    """An unfinished job is in exactly one place; a final one in none, but for a cancelled one's lease; and no entry
    stands for a job that is not there (ADR-0012).
    """
    for row in await rows(conn, _WHERE):
        _check(row)
    for table in ("queued", "delayed", "ready", "lease"):
        stray = await rows(
            conn,
            f"SELECT job_id FROM {table} WHERE NOT EXISTS (SELECT FROM job WHERE job.id = {table}.job_id)",  # noqa: S608
        )
        assert not stray, f"{table} speaks of jobs that are not there: {stray}"


def _check(row: dict[str, Any]) -> None:
    if row["final_state"] is None:
        assert len(row["places"]) == 1, f"{row['id']} is in {row['places']}"
    elif row["final_state"] == "cancelled":
        assert row["places"] in ([], ["lease"]), f"{row['id']} is cancelled and in {row['places']}"
    else:
        assert row["places"] == [], f"{row['id']} is {row['final_state']} and in {row['places']}"


async def until(condition: Callable[[], bool | Awaitable[bool]], *, within_s: float = 5.0) -> None:
    """Waits for a condition, looking every 10 ms."""
    async with asyncio.timeout(within_s):
        while True:
            value = condition()
            if value is True or (not isinstance(value, bool) and await value):
                return
            await asyncio.sleep(0.01)
