"""Gauges read from real rows, and what the probes' server says."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from prometheus_client import CollectorRegistry

from scrapejobs.domain.ids import uuid7
from scrapejobs.ops.collector import ROW_GAUGES, RowGauges
from scrapejobs.ops.health import Health
from scrapejobs.store import gauges
from scrapejobs.store.query import sql

ALIVE_S = 15.0


@pytest.fixture
def conn(committed: None, database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def scrape(committed: None, database_url: str) -> Iterator[Any]:
    """Reads all gauges anew: the value by metric and labels."""
    made: list[RowGauges] = []

    def read() -> dict[tuple[str, ...], float]:
        collector = RowGauges(database_url, alive_s=ALIVE_S)
        made.append(collector)
        return {
            (s.name.removeprefix("scrapejobs_"), *(s.labels[name] for name in sorted(s.labels))): s.value
            for family in collector.collect()
            for s in family.samples
        }

    yield read
    for collector in made:
        collector.close()


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


def job(conn: psycopg.Connection, **columns: Any) -> UUID:
    """A job's row; unpublished unless the columns say otherwise."""
    moment = datetime.now(UTC)
    id_ = uuid7(unix_ms=int(moment.timestamp() * 1000), random_bits=uuid4().int & ((1 << 74) - 1))
    row = {
        "id": id_,
        "tenant_id": 1,
        "priority": 1,
        "url": "http://shop.example/",
        "host": "shop.example",
        "params": "{}",
        "max_attempts": 5,
        "deadline_at": moment + timedelta(days=1),
        **columns,
    }
    insert(conn, "job", row)
    return id_


def insert(conn: psycopg.Connection, table: str, row: dict[str, Any]) -> None:
    names, values = ", ".join(row), ", ".join(f"%({name})s" for name in row)
    conn.execute(f"INSERT INTO {table} ({names}) VALUES ({values})", row)  # noqa: S608 - names of this file


def waiting(**columns: Any) -> dict[str, Any]:
    return {"job_id": uuid4(), "priority": 1, "tenant_id": 1, "host": "shop.example", **columns}


def lease(conn: psycopg.Connection, seq: int, *, worker_id: UUID, expires_at: datetime) -> None:
    row = waiting(seq=seq, number=1, worker_id=worker_id, worker="w", started_at=ago(60), expires_at=expires_at)
    insert(conn, "lease", row)


def worker(conn: psycopg.Connection, *, seen_at: datetime, slots: int = 20, draining: bool = False) -> UUID:
    row = {"id": uuid4(), "role": "worker", "name": "w", "hostname": "h", "pid": 1, "slots": slots}
    insert(conn, "service", {**row, "draining": draining, "seen_at": seen_at})
    return row["id"]


@pytest.mark.case("S18")
@pytest.mark.req("FR-13")
def test_jobs_of_a_killed_worker_are_counted_from_its_leases(conn: psycopg.Connection, scrape: Any):
    live, killed = worker(conn, seen_at=ago(1), slots=20), worker(conn, seen_at=ago(60), slots=10)
    for seq in (1, 2, 3):
        lease(conn, seq, worker_id=killed, expires_at=ago(5))
    lease(conn, 4, worker_id=live, expires_at=ago(-20))
    seen = scrape()
    assert seen["leases_expired",] == 3
    assert seen["workers_live",] == 1
    assert (seen["slots", "busy"], seen["slots", "free"]) == (4, 19)
    assert seen["queue_depth", "lease", "normal"] == 4
    conn.execute("DELETE FROM lease WHERE worker_id = %s", [killed])
    seen = scrape()
    assert seen["leases_expired",] == 0
    assert (seen["slots", "busy"], seen["slots", "free"]) == (1, 19)


@pytest.mark.req("FR-13")
def test_a_draining_worker_lives_and_has_no_free_slots(conn: psycopg.Connection, scrape: Any):
    worker(conn, seen_at=ago(1), draining=True)
    seen = scrape()
    assert (seen["workers_live",], seen["slots", "free"]) == (1, 0)


@pytest.mark.req("FR-13")
def test_an_empty_system_shows_zero_for_every_queue_place_and_outbox(scrape: Any):
    seen = scrape()
    assert seen.pop(("partitions_ahead_days",)) == 14
    queues = ["high", "normal", "low"]
    places = ["unpublished", "queued", "delayed", "ready", "lease"]
    assert seen == {
        **{("oldest_queued_seconds", queue): 0 for queue in queues},
        **{("queue_depth", place, queue): 0 for place in places for queue in queues},
        **{("outbox_lag_seconds", outbox): 0 for outbox in ("publish", "finish", "delivery")},
        **{("slots", state): 0 for state in ("busy", "free")},
        ("leases_expired",): 0,
        ("workers_live",): 0,
    }


@pytest.mark.req("FR-13")
def test_depth_counts_each_job_in_its_queue_and_place(conn: psycopg.Connection, scrape: Any):
    job(conn, priority=0)
    job(conn, priority=0, published_at=ago(1))  # its place is the row below
    insert(conn, "queued", waiting(priority=0))
    insert(conn, "queued", waiting(priority=2))
    insert(conn, "delayed", waiting(priority=2, due_at=ago(-60)))
    insert(conn, "ready", waiting(priority=1, seq=1))
    seen = {key: n for key, n in scrape().items() if key[0] == "queue_depth" and n}
    assert seen == {
        ("queue_depth", "unpublished", "high"): 1,
        ("queue_depth", "queued", "high"): 1,
        ("queue_depth", "queued", "low"): 1,
        ("queue_depth", "delayed", "low"): 1,
        ("queue_depth", "ready", "normal"): 1,
    }


@pytest.mark.req("NFR-8")
def test_the_oldest_queued_job_is_found_wherever_it_waits(conn: psycopg.Connection, scrape: Any):
    insert(conn, "queued", waiting(priority=0, queued_at=ago(50)))
    insert(conn, "queued", waiting(priority=0, queued_at=ago(100)))
    insert(conn, "ready", waiting(priority=1, seq=1, queued_at=ago(200)))
    job(conn, priority=2, created_at=ago(300))
    seen = scrape()
    assert seen["oldest_queued_seconds", "high"] == pytest.approx(100, abs=5)
    assert seen["oldest_queued_seconds", "normal"] == pytest.approx(200, abs=5)
    assert seen["oldest_queued_seconds", "low"] == pytest.approx(300, abs=5)


@pytest.mark.req("FR-13")
def test_a_retry_that_waits_for_its_time_is_not_an_old_queued_job(conn: psycopg.Connection, scrape: Any):
    insert(conn, "delayed", waiting(due_at=ago(-600)))
    assert scrape()["oldest_queued_seconds", "normal"] == 0


@pytest.mark.req("FR-9")
def test_each_outbox_shows_how_long_its_next_row_has_waited(conn: psycopg.Connection, scrape: Any):
    job(conn, created_at=ago(100))
    job(conn, published_at=ago(300), final_state="cancelled", finished_at=ago(200))
    for event_id, due in ((uuid4(), ago(300)), (uuid4(), ago(-60))):
        row = {"event_id": event_id, "job_id": uuid4(), "tenant_id": 1, "url": "http://c.example/"}
        insert(conn, "delivery", {**row, "next_try_at": due})
    seen = scrape()
    assert seen["outbox_lag_seconds", "publish"] == pytest.approx(100, abs=5)
    assert seen["outbox_lag_seconds", "finish"] == pytest.approx(200, abs=5)
    assert seen["outbox_lag_seconds", "delivery"] == pytest.approx(300, abs=5)


@pytest.mark.req("FR-10")
def test_a_requeued_dead_letter_of_last_week_is_no_lag_of_a_week(conn: psycopg.Connection, scrape: Any):
    job(conn, created_at=ago(7 * 86_400), error_class="permanent", error_code="http_404", error_at=ago(86_400))
    seen = scrape()
    assert seen["queue_depth", "unpublished", "normal"] == 1
    assert (seen["outbox_lag_seconds", "publish"], seen["oldest_queued_seconds", "normal"]) == (0, 0)


@pytest.mark.req("NFR-1")
def test_days_ahead_are_those_that_every_partitioned_table_has(committed: None, database_url: str):
    last = datetime.now(UTC).date() + timedelta(days=14)
    with psycopg.connect(database_url) as outer, gauges.connect(database_url) as own:
        now = datetime.now(UTC) + timedelta(days=4)
        assert gauges.read(own, "partitions_ahead_days", alive_s=ALIVE_S, now=now) == [{"value": 10.0}]
        own.autocommit = False
        own.execute(f"DROP TABLE event_{last:%Y%m%d}")
        assert gauges.read(own, "partitions_ahead_days", alive_s=ALIVE_S, now=now) == [{"value": 9.0}]
        own.rollback()
        outer.rollback()


@pytest.mark.req("FR-13")
def test_no_gauge_scans_the_jobs_that_are_kept(committed: None, database_url: str):
    with gauges.connect(database_url) as own:
        own.autocommit = False
        own.execute(
            "INSERT INTO job (id, tenant_id, priority, url, host, params, max_attempts, deadline_at, published_at,"
            " final_state, finished_at, finish_published_at)"
            " SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '7000'"
            " || '8000' || lpad(to_hex(n), 12, '0'))::uuid, 1, 1, 'http://a.example/', 'a.example', '{}', 5, now(),"
            " now(), 'cancelled', now(), now() FROM generate_series(1, 20000) n"
        )
        own.execute("ANALYZE job")
        (filled,) = own.execute("SELECT DISTINCT tableoid::regclass::text AS name FROM job").fetchall()
        for gauge in ROW_GAUGES:
            scans = [line for line in plan_of(own, gauge.statement) if f" on {filled['name']} " in line]
            assert all("_pkey" not in line and "Seq Scan" not in line for line in scans), (gauge.name, scans)
        oldest = plan_of(own, "oldest_queued_seconds")
        assert any("queued_oldest" in line for line in oldest)
        own.rollback()


def plan_of(own: gauges.Connection, gauge: str) -> list[str]:
    rows = own.execute("EXPLAIN " + sql(f"gauge/{gauge}"), {"alive_s": ALIVE_S, "now": None})
    return [row["QUERY PLAN"] for row in rows]


@pytest.mark.req("FR-13")
def test_a_scrape_without_a_database_shows_no_gauge(committed: None, database_url: str, unused_port: int):
    gone = RowGauges(f"postgresql://nobody@127.0.0.1:{unused_port}/none", alive_s=ALIVE_S)
    assert list(gone.collect()) == []
    collector = RowGauges(database_url, alive_s=ALIVE_S)
    registry = CollectorRegistry(auto_describe=True)
    registry.register(collector)
    assert registry.get_sample_value("scrapejobs_workers_live") == 0
    collector.close()
    collector._read_at = float("-inf")
    assert registry.get_sample_value("scrapejobs_workers_live") == 0
    collector.close()


@pytest.mark.req("FR-13")
def test_who_scrapes_twice_within_a_second_costs_one_reading(conn: psycopg.Connection, database_url: str):
    collector = RowGauges(database_url, alive_s=ALIVE_S)
    first = list(collector.collect())
    worker(conn, seen_at=ago(0))
    assert list(collector.collect()) == first
    collector.close()


@pytest.fixture
def unused_port() -> int:
    """A port on which nothing listens: bound and let go."""
    health = Health()
    port = health.serve("127.0.0.1", 0)
    health.close()
    return port


@pytest.mark.req("FR-13")
def test_a_job_that_was_ready_in_vain_has_still_waited_since_it_was_queued(conn: psycopg.Connection, scrape: Any):
    insert(conn, "queued", waiting(job_id=job(conn, published_at=ago(100)), queued_at=ago(100)))
    conn.execute("UPDATE dispatcher SET epoch = 1, expires_at = clock_timestamp() + interval '1 minute'")
    seqs = [seq for (seq,) in conn.execute("SELECT seq FROM queued")]
    conn.execute(sql("ready/dispatch"), {"epoch": 1, "seqs": seqs})
    assert scrape()["queue_depth", "ready", "normal"] == 1
    conn.execute("UPDATE ready SET ready_at = ready_at - interval '1 minute'")
    conn.execute(sql("ready/take_back"), {"epoch": 1, "ready_ttl_s": 2.0})
    seen = scrape()
    assert seen["queue_depth", "queued", "normal"] == 1
    assert seen["oldest_queued_seconds", "normal"] == pytest.approx(100, abs=10)
