"""Every statement fits the schema; the hot ones stay on their indexes, and on the day partitions they must touch."""

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.sql import Literal

from scrapejobs.domain.ids import first_of_day
from scrapejobs.store import partitions
from scrapejobs.store.query import names, sql
from tests.integration.factories import today_utc

PARAM = re.compile(r"%\((\w+)\)s")
ROOT = Path(__file__).resolve().parents[2] / "scrapejobs"
DAYS = 40
JOBS_TODAY = 10_000
QUEUED = 20_000


@pytest.mark.req("NFR-1")
@pytest.mark.parametrize("name", names())
def test_a_statement_begins_with_why_and_with_what_asks_for_it(name: str) -> None:
    why, source, *rest = sql(name).splitlines()
    assert why.startswith("-- ")
    assert re.match(r"-- .*\b(FR|NFR|P|ADR|S)-?\d", source), source
    assert rest
    assert not re.search(r"(?<!clock_times)\bnow\(\)|current_timestamp", "\n".join(rest), re.IGNORECASE)


@pytest.mark.req("P2")
def test_only_the_transitions_change_a_jobs_state() -> None:
    writes = re.compile(r"\b(UPDATE|INSERT INTO|DELETE FROM)\s+(job|queued|delayed|ready|lease)\b", re.IGNORECASE)
    known = {
        *(
            f"job/{verb}"
            for verb in ("submit", "submit_many", "publish", "cancel", "expire", "finish", "requeue", "discard")
        ),
        *(f"{place}/remove" for place in ("queued", "delayed", "ready")),
        *(
            "delayed/promote",
            "ready/dispatch",
            "ready/take_back",
            "ready/hold_back",
            "ready/claim",
            "lease/renew",
            "lease/report",
            "job/reseal",
            "job/erase",
        ),
    }
    assert {name for name in names() if writes.search(sql(name))} == known
    users = {
        "transitions.py": known,
        "bulk.py": {"job/submit_many"},
        "dispatch.py": {"ready/dispatch", "ready/take_back"},
        "hosts.py": {"ready/hold_back"},
        "upkeep.py": {"job/finish"},
        "cancellation.py": {"job/cancel"},
        "resealing.py": {"job/reseal", "job/erase"},  # no state, but what is sealed
    }
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "migrations" not in path.parts:
            assert not writes.search(text), f"{path} writes a job by itself"
        used = {name for name in known if f'"{name}"' in text}
        assert used <= users.get(path.name, set()), f"{path} uses {used}"


@pytest.fixture(scope="module")
def seeded(django_db_setup: None) -> Iterator[psycopg.Connection[Any]]:
    """40 days of partitions, one of them full, a long queue and some running jobs, in a transaction rolled back."""
    today = today_utc()
    options = "-c enable_seqscan=off -c jit=off -c timezone=UTC"  # as a loop's link
    with psycopg.connect(os.environ["DATABASE_URL"], row_factory=dict_row, options=options) as connection:
        for statement in partitions.create_statements(today - timedelta(days=DAYS), days_ahead=DAYS):
            connection.execute(statement)
        connection.execute(
            """
            INSERT INTO job (id, tenant_id, priority, url, host, params, max_attempts, deadline_at, published_at,
                final_state, finished_at, finish_published_at, error_class, error_code)
            SELECT (left(%(first)s, 24) || lpad(to_hex(i), 12, '0'))::uuid, i %% 50, i %% 3, 'http://h/',
                'h' || i %% 99,
                '{}', 5, clock_timestamp() + interval '1 day',
                CASE WHEN i %% 100 > 0 THEN clock_timestamp() END,
                CASE WHEN i %% 100 > 9 THEN CASE WHEN i %% 10 = 9 THEN 'failed' ELSE 'cancelled' END END,
                CASE WHEN i %% 100 > 9 THEN clock_timestamp() END,
                CASE WHEN i %% 100 > 10 THEN clock_timestamp() END, 'permanent', 'http_404'
            FROM generate_series(1, %(n)s) i
            """,
            {"first": str(first_of_day(today)), "n": JOBS_TODAY},
        )
        connection.execute(
            """
            INSERT INTO job (id, tenant_id, priority, url, host, params, tags, max_attempts, deadline_at, published_at,
                final_state, finished_at, finish_published_at)
            SELECT (left(%(first)s, 24) || lpad(to_hex(100000 + i), 12, '0'))::uuid, 77, 1, 'http://h/', 'h', '{}',
                CASE WHEN i %% 2000 = 7 THEN '{"run": "rare"}' ELSE '{"run": "usual"}' END::jsonb, 5,
                clock_timestamp(), clock_timestamp(), 'cancelled', clock_timestamp(), clock_timestamp()
            FROM generate_series(1, %(n)s) i
            """,
            {"first": str(first_of_day(today)), "n": JOBS_TODAY},
        )
        connection.execute(
            "INSERT INTO queued (job_id, priority, tenant_id, host)"
            " SELECT gen_random_uuid(), i %% 3, i %% 50, 'h' || i %% 99 FROM generate_series(1, %s) i",
            [QUEUED],
        )
        connection.execute(
            "INSERT INTO ready (seq, job_id, priority, tenant_id, host)"
            " SELECT -i, gen_random_uuid(), 1, 1, 'h' FROM generate_series(1, 200) i"
        )
        connection.execute(
            "INSERT INTO lease (seq, job_id, number, priority, tenant_id, host, worker_id, worker, started_at,"
            " expires_at)"
            " SELECT -1000 - row_number() OVER (), id, 1, priority, tenant_id, host, gen_random_uuid(), 'w',"
            " clock_timestamp(), clock_timestamp() + interval '1 minute'"
            " FROM job WHERE final_state IS NULL AND published_at IS NOT NULL LIMIT 500"
        )
        connection.execute(
            "INSERT INTO event (id, job_id, tenant_id, status, finished_at, xid)"
            " SELECT (left(%(first)s, 24) || lpad(to_hex(i), 12, '0'))::uuid, gen_random_uuid(), i %% 50, 'failed',"
            " clock_timestamp(), (1 + i / 10)::text::xid8 FROM generate_series(1001, %(n)s) i",
            {"first": str(first_of_day(today)), "n": JOBS_TODAY},
        )
        connection.execute("ANALYZE job; ANALYZE queued; ANALYZE ready; ANALYZE lease; ANALYZE attempt; ANALYZE event")
        yield connection
        connection.rollback()


def plan(connection: psycopg.Connection[Any], name: str, **params: Any) -> list[dict[str, Any]]:
    """Every node of the plan that a statement is run by."""
    text = sql(name)
    given = dict.fromkeys(PARAM.findall(text)) | params
    with connection.transaction(force_rollback=True):
        row = connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + text, given).fetchone()
    return nodes_of(row)


def plan_once_for_all(connection: psycopg.Connection[Any], name: str, **params: Any) -> list[dict[str, Any]]:
    """Every node of the plan that serves whatever parameters, which is what a loop's link goes by."""
    text = sql(name)
    given = dict.fromkeys(PARAM.findall(text)) | params
    numbers = {param: f"${n}" for n, param in enumerate(given, 1)}
    values = ", ".join(Literal(value).as_string(connection) for value in given.values())
    with connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.execute("PREPARE statement AS " + PARAM.sub(lambda match: numbers[match[1]], text))
        row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE statement ({values})").fetchone()
        connection.execute("DEALLOCATE statement")
    return nodes_of(row)


def nodes_of(row: Any) -> list[dict[str, Any]]:
    assert row is not None
    nodes, left = [], [row["QUERY PLAN"][0]["Plan"]]
    while left:
        node = left.pop()
        nodes.append(node)
        left.extend(node.get("Plans", ()))
    return nodes


def touched(nodes: list[dict[str, Any]], table: str) -> set[str]:
    """The partitions of a table that were really read."""
    return {
        node["Relation Name"]
        for node in nodes
        if node.get("Relation Name", "").startswith(f"{table}_")
        and node["Actual Loops"]
        and "Scan" in node["Node Type"]
    }


def some(connection: psycopg.Connection[Any], query: str) -> Any:
    row = connection.execute(query).fetchone()
    assert row is not None
    return next(iter(row.values()))


def hot(connection: psycopg.Connection[Any]) -> dict[str, dict[str, Any]]:
    job = some(connection, "SELECT job_id FROM lease ORDER BY seq LIMIT 1")
    seqs = some(connection, "SELECT array_agg(seq) FROM (SELECT seq FROM queued ORDER BY seq LIMIT 50) s")
    leases = some(connection, "SELECT array_agg(seq) FROM (SELECT seq FROM lease ORDER BY seq LIMIT 50) s")
    snapshot = some(connection, "SELECT pg_current_snapshot()::text")
    reports = f'[{{"seq": {leases[0]}, "job_id": "{job}", "next": "failed", "outcome": "permanent",'
    reports += ' "error_code": "http_404", "charged": true, "lost": false, "expired_only": false}]'
    worker = UUID(int=1)
    ids = some(connection, "SELECT array_agg(id) FROM (SELECT id FROM job ORDER BY id LIMIT 1000) j")
    return {
        "job/publish": {"limit": 100},
        "ready/claim": {"limit": 20, "lease_s": 60.0, "worker_id": worker, "worker": "w"},
        "lease/report": {"reports": reports, "job_ids": [job], "first_id": job, "last_id": job},
        "lease/renew": {"seqs": leases, "lease_s": 60.0},
        "lease/standing": {"seqs": leases},
        "lease/expired": {"limit": 500},
        "queued/appended": {
            "since": snapshot,
            "priorities": [1],
            "tenant_ids": [1],
            "hosts": ["h"],
            "afters": [0],
            "sizes": [64],
        },
        "ready/outstanding": {"seqs": seqs},
        "ready/dispatch": {"seqs": seqs, "epoch": 1},
        "ready/take_back": {"epoch": 1, "ready_ttl_s": 2.0},
        "ready/hold_back": {"hosts": ["h"]},
        "job/finish": {"event_ids": [UUID(int=first_of_day(today_utc()).int + i) for i in range(100)]},
        "job/overdue": {"limit": 500},
        "job/page": {"tenant_id": 1, "limit": 50, "queued": False, "running": False},
        "dead_letter/list": {"limit": 100},
        "job/lock": {"id": job},
        "job/view": {"ids": [job], "tenant_id": 1},
        "event/feed": {"tenant_id": 1, "xid": 500, "seq": 0, "limit": 100},
        "attempt/of_job": {"id": job, "tenant_id": 1},
        "job/orphans": {"keys": [f"k/{i}" for i in ids], "job_ids": ids, "seqs": list(range(len(ids)))},
    }


HOT = (
    "job/publish", "ready/claim", "lease/report", "lease/renew", "lease/standing", "lease/expired", "queued/appended",
    "ready/outstanding", "ready/dispatch", "ready/take_back", "ready/hold_back", "job/finish", "job/overdue",
    "job/page", "dead_letter/list", "job/lock", "job/view", "attempt/of_job", "job/orphans", "event/feed",
)  # fmt: skip
BY_ID = ("job/lock", "job/view", "attempt/of_job", "lease/report", "job/orphans")
BIG = re.compile(r"(job|attempt|event)_\d{8}|queued")


@pytest.mark.req("NFR-10")
@pytest.mark.parametrize("name", HOT)
def test_a_hot_statement_scans_no_big_table(seeded: psycopg.Connection[Any], name: str) -> None:
    nodes = plan(seeded, name, **hot(seeded)[name])
    scanned = {
        node["Relation Name"]
        for node in nodes
        if node["Node Type"] == "Seq Scan" and BIG.fullmatch(node["Relation Name"])
    }
    assert not scanned
    for node in nodes:
        if BIG.fullmatch(node.get("Relation Name", "")):
            removed = node.get("Rows Removed by Filter", 0) * node["Actual Loops"]
            assert removed < 2_000, f"{node['Relation Name']} was walked through: {removed} rows for nothing"


@pytest.mark.req("NFR-10")
@pytest.mark.parametrize("name", BY_ID)
def test_a_look_up_by_id_reads_the_one_partition_of_its_day(seeded: psycopg.Connection[Any], name: str) -> None:
    nodes = plan(seeded, name, **hot(seeded)[name])
    assert touched(nodes, "job") <= {partitions.name_of("job", today_utc())}
    assert touched(nodes, "attempt") <= {partitions.name_of("attempt", today_utc())}


@pytest.mark.req("NFR-10")
def test_a_report_that_is_planned_once_for_all_reads_the_one_partition_of_its_day(
    seeded: psycopg.Connection[Any],
) -> None:
    nodes = plan_once_for_all(seeded, "lease/report", **hot(seeded)["lease/report"])
    assert touched(nodes, "job") == {partitions.name_of("job", today_utc())}


@pytest.mark.req("NFR-1")
def test_every_statement_fits_the_migrated_schema(seeded: psycopg.Connection[Any]) -> None:
    seeded.execute(sql("incoming/create"))
    for name in set(names()) - {"incoming/create", "incoming/copy"}:  # which EXPLAIN does not take
        text = sql(name)
        try:
            with seeded.transaction(force_rollback=True):
                seeded.execute("EXPLAIN " + text, dict.fromkeys(PARAM.findall(text)))
        except psycopg.Error as error:
            pytest.fail(f"{name}: {error}")


@pytest.mark.req("FR-6")
@pytest.mark.req("NFR-10")
@pytest.mark.parametrize(("tag", "is_rare"), [('{"run": "rare"}', True), ('{"run": "usual"}', False)])
def test_a_list_by_tag_walks_through_few_jobs_whether_few_or_all_have_it(
    seeded: psycopg.Connection[Any], tag: str, is_rare: bool
) -> None:
    nodes = plan_of_page(seeded, tag)
    removed = sum(node.get("Rows Removed by Filter", 0) * node["Actual Loops"] for node in nodes)
    assert removed < 500
    assert any("tags" in node.get("Index Name", "") for node in nodes) is is_rare


def plan_of_page(connection: psycopg.Connection[Any], tag: str) -> list[dict[str, Any]]:
    """As the gateway's connection plans it: values stand in the text."""
    text = sql("job/page")
    given = dict.fromkeys(PARAM.findall(text)) | {"tenant_id": 77, "limit": 50, "queued": False, "running": False}
    with psycopg.ClientCursor(connection) as cursor:
        bound = cursor.mogrify(text, given | {"tags": tag})
    row = connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + bound).fetchone()
    assert row is not None
    return nodes_of(row)
