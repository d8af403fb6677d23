"""Collects a round's history from the logs, the database and the object store."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from tests.chaos.client import Load
from tests.chaos.fault import Fault
from tests.chaos.history import Asked, Attempt, Call, Deed, Event, History, Hit, Job, Object
from tests.chaos.journal import lines_of
from tests.chaos.world import World

JOBS = """
SELECT id::text, tags->>'key' AS key, url, extract(epoch FROM created_at)::float8 AS created_at,
    callback_url IS NOT NULL AS has_callback, final_state AS final,
    error_code AS code, extract(epoch FROM finished_at)::float8 AS finished_at, result_key, result_size, result_sha256,
    attempts AS n_charged, finish_published_at IS NOT NULL AS is_told
FROM job WHERE tenant_id = ANY (%s)
"""
ATTEMPTS = """
SELECT job_id::text, number, worker, extract(epoch FROM attempt.started_at)::float8 AS started_at,
    extract(epoch FROM attempt.finished_at)::float8 AS finished_at, outcome, charged AS is_charged
FROM attempt JOIN job ON job.id = attempt.job_id WHERE tenant_id = ANY (%s)
"""
EVENTS = "SELECT id::text, job_id::text FROM event WHERE tenant_id = ANY (%s)"
GIVEN_UP = "SELECT event_id::text FROM delivery WHERE state = 'given_up' AND tenant_id = ANY (%s)"
LEFT = """
SELECT 'job ' || job_id || ' is still in ' || place AS what FROM (
    SELECT job_id, tenant_id, 'queued' AS place FROM queued UNION ALL SELECT job_id, tenant_id, 'delayed' FROM delayed
    UNION ALL SELECT job_id, tenant_id, 'ready' FROM ready UNION ALL SELECT job_id, tenant_id, 'lease' FROM lease
) places WHERE tenant_id = ANY (%s)
"""


def gather(
    world: World, load: Load, fault: Fault, *, under_load: tuple[float, float], crashes: tuple[str, ...]
) -> History:
    """The history of the round whose load was on from and to these times."""
    tenants = list(load.tenants.values())
    with psycopg.connect(
        world.servers.environment["DATABASE_URL"], autocommit=True, row_factory=psycopg.rows.dict_row
    ) as conn:

        def rows(statement: str) -> list[dict[str, Any]]:
            return conn.execute(statement, [tenants]).fetchall()

        return History(
            asked=tuple(_asked(load.journal.file)),
            jobs=tuple(Job(path=urlsplit(row.pop("url")).path, **row) for row in rows(JOBS)),
            attempts=tuple(Attempt(**row) for row in rows(ATTEMPTS)),
            events=tuple(Event(**row) for row in rows(EVENTS)),
            objects=tuple(_objects(world.servers["s3"].directory / "scrapejobs", tenants)),
            hits=tuple(_hits(world.target.log, load.name)),
            calls=tuple(_calls(world.receiver.log, load.name)),
            deeds=tuple(_deeds(world.journal.file, under_load[0])),
            given_up=frozenset(row["event_id"] for row in rows(GIVEN_UP)),
            left=tuple(row["what"] for row in rows(LEFT)),
            crashes=crashes,
            under_load=under_load,
            host_slots=world.layout.host_slots,
            host_rate=world.layout.host_rate,
            host_burst=world.layout.host_burst,
            pauses_at_most_s=fault.pauses_at_most_s,
            recovers_within_s=fault.recovers_within_s,
            loses_no_attempt=fault.loses_no_attempt,
            is_quiet=fault.is_quiet,
        )


def _asked(file: Path) -> Iterator[Asked]:
    for line in lines_of(file):
        yield Asked(line["what"], line["result"], line["at"], line["job_id"], line.get("key"), line.get("path"))


def _hits(file: Path, name: str) -> Iterator[Hit]:
    ends: dict[int, Mapping[str, Any]] = {}
    requests = []
    for line in lines_of(file):
        if line["what"] == "end":
            ends[line["number"]] = line
        elif _is_of(line["path"], name):
            requests.append(line)
    for line in requests:
        end = ends.get(line["number"], {})
        yield Hit(line["host"], line["path"], line["at"], end.get("at"), end.get("how"))


def _calls(file: Path, name: str) -> Iterator[Call]:
    for line in lines_of(file):
        if _is_of(line["path"], name):
            yield Call(line["event_id"], line["job_id"], line["is_valid"], line["status"])


def _deeds(file: Path, since: float) -> Iterator[Deed]:
    for line in lines_of(file):
        if line["at"] >= since:
            yield Deed(line["what"], line["at"], line.get("label"))


def _is_of(path: str, name: str) -> bool:
    """Whether a path was asked for by the load of that name."""
    return path.split("/")[2].rpartition("-")[0] == name


def _objects(bucket: Path, tenants: list[int]) -> Iterator[Object]:
    """The store's own files: what a killed put left half-written is no object yet."""
    for tenant in tenants:
        for file in bucket.glob(f"*/{tenant}/*/*"):
            if not file.name.startswith(".rclone_temp_put_"):
                body = file.read_bytes()
                yield Object(str(file.relative_to(bucket)), len(body), hashlib.sha256(body).hexdigest())
