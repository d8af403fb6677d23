"""The servers, the seeds and the processes that the cells of the benchmark are made of."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from scrapejobs.adapters import embedded
from scrapejobs.store import partitions

ROOT = Path(__file__).resolve().parents[2]
POSTGRES = {"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "15min", "work_mem": "32MB"}
TENANTS, HOSTS = 60, 400
DAYS_KEPT = 30
SEEDS = {"pgqueuer": 3, "procrastinate": 1, "raw": 8}
"""How many times as many jobs each is given, so that none runs dry: the bare loop is the fastest."""


@dataclass
class Stand:
    """One Postgres with a database for each contender. Commits are as durable as Postgres makes them."""

    environment: dict[str, str]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def url(self, database: str = "scrapejobs") -> str:
        return f"{self.environment['DATABASE_URL'].rpartition('/')[0]}/{database}"

    def connect(self, database: str = "scrapejobs") -> psycopg.Connection:
        return psycopg.connect(self.url(database), autocommit=True)

    def start(self, *argv: str, is_read: bool = False) -> subprocess.Popen[str]:
        """A process of Python; what it prints is lost unless somebody reads it."""
        process = subprocess.Popen(
            [sys.executable, *argv],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE if is_read else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.processes.append(process)
        return process

    def stop_all(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
        self.processes.clear()


@contextmanager
def stand() -> Iterator[Stand]:
    """Servers of this run alone, the product's schema in `scrapejobs`."""
    with tempfile.TemporaryDirectory(prefix="scrapejobs-bench-") as directory:
        Path(directory).chmod(0o711)
        data_dir = Path(directory) / "data"
        with embedded.hold(data_dir):
            servers = embedded.start_servers(data_dir, postgres_options=POSTGRES)
            environment = {
                **os.environ,
                **servers.environment,
                "DATA_DIR": os.devnull,
                "DJANGO_SETTINGS_MODULE": "scrapejobs.settings",
                "SCRAPEJOBS_SECRET_KEY": "a-key-for-benchmarks-and-nothing-else-012345",
                "SCRAPEJOBS_SEALING_KEYS": "a-sealing-key-for-benchmarks-and-nothing-else",
                "SCRAPEJOBS_HOST_RATE": "1000000",  # every limit is counted, and none is in the way
                "SCRAPEJOBS_HOST_BURST": "1000000",
                "SCRAPEJOBS_HOST_CONCURRENCY": "10000",
            }
            here = Stand(environment)
            try:
                subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
                _make_past_days(here)
                yield here
            finally:
                here.stop_all()
                servers.stop()


def _make_past_days(stand: Stand) -> None:
    """Partitions of the days that retention would have kept: what a statement finds after the first month."""
    today = datetime.now(UTC).date()
    with stand.connect() as conn:
        for statement in partitions.create_statements(today - timedelta(days=DAYS_KEPT), days_ahead=DAYS_KEPT):
            conn.execute(statement)


def seed_ours(stand: Stand, n: int, *, paused: int = 0) -> None:
    """`n` queued jobs of 60 tenants at 400 hosts in three queues, and `paused` more at one host that is paused."""
    with stand.connect() as conn:
        conn.execute("TRUNCATE job, attempt, event, queued, delayed, ready, lease, delivery, host, tenant CASCADE")
        conn.execute(
            "INSERT INTO tenant (id, name, weight, webhook_secret)"
            " SELECT i, 'tenant ' || i, 1, 'whsec_' FROM generate_series(0, %s) i",
            [TENANTS - 1],
        )
        _put(conn, n, host=f"'h' || i %% {HOSTS} || '.example'", id_=0)
        if paused:
            _put(conn, paused, host="'paused.example'", id_=1)
            conn.execute(
                "INSERT INTO host (name, paused_until, pause_reason)"
                " VALUES ('paused.example', '9999-01-01Z', 'operator')"
            )
        conn.execute("VACUUM (ANALYZE) job, queued")
        conn.execute("CHECKPOINT")


def seed_entries(stand: Stand, n: int, *, lane: str) -> None:
    """`n` queue entries without their jobs, for a dispatcher to read. `lane` gives priority, tenant and host of `i`."""
    with stand.connect() as conn:
        conn.execute("TRUNCATE queued")
        conn.execute(
            f"INSERT INTO queued (job_id, priority, tenant_id, host) SELECT gen_random_uuid(), {lane}"  # noqa: S608
            " FROM generate_series(1, %s) i",
            [n],
        )
        conn.execute("VACUUM (ANALYZE) queued")


PARAMS = (
    '{"method": "GET", "headers": {}, "query": {}, "body": null, "json": null, "timeout_s": 60, "max_bytes": 1048576,'
    ' "follow_redirects": true, "accept_statuses": [], "retry_unsafe": false, "expect": null}'
)


def _put(conn: psycopg.Connection, n: int, *, host: str, id_: int) -> None:
    """Published jobs and their entries, in two statements. The ids are of now, as UUIDv7 wants it."""
    conn.execute(
        "WITH made AS (INSERT INTO job (id, tenant_id, priority, url, host, params, max_attempts, deadline_at,"  # noqa: S608
        " published_at) SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')"
        f" || '7{id_:03x}8' || lpad(to_hex(i), 15, '0'))::uuid, i %% {TENANTS}, i %% 3, 'http://x.example/', {host},"
        " %s, 5, clock_timestamp() + interval '1 day', clock_timestamp() FROM generate_series(1, %s) i"
        " RETURNING id, priority, tenant_id, host)"
        " INSERT INTO queued (job_id, priority, tenant_id, host) SELECT id, priority, tenant_id, host FROM made",
        [PARAMS, n],
    )


def seed_peers(stand: Stand, n: int) -> None:
    """`n` jobs that do nothing for each peer, in a database of its own, by the peer's own bulk call."""
    for name, times in SEEDS.items():
        with stand.connect("postgres") as conn:
            conn.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            conn.execute(f"CREATE DATABASE {name}")
        subprocess.run(
            [sys.executable, "-m", "benchmarks.queue.seed", name, stand.url(name), str(n * times)],
            cwd=ROOT,
            check=True,
        )
        with stand.connect(name) as conn:
            conn.execute("VACUUM (ANALYZE)")
            conn.execute("CHECKPOINT")


class Counter:
    """Reads what a peer's process prints: how many it has done."""

    def __init__(self, processes: Sequence[subprocess.Popen[str]]) -> None:
        self._latest = [0] * len(processes)
        for number, process in enumerate(processes):
            threading.Thread(target=self._read, args=(number, process), daemon=True).start()

    def _read(self, number: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._latest[number] = int(line)

    def done(self) -> int:
        return sum(self._latest)


def rate_of(done: Callable[[], int], *, seconds: float) -> float:
    """Jobs a second, over `seconds` from when the first ones are done."""
    began, start = wait_for(done), time.monotonic()
    time.sleep(seconds)
    return (done() - began) / (time.monotonic() - start)


def wait_for(done: Callable[[], int], *, at_most_s: float = 60.0) -> int:
    give_up_at = time.monotonic() + at_most_s
    while not (n := done()):
        if time.monotonic() > give_up_at:
            sys.exit("nothing was done within a minute")
        time.sleep(0.05)
    return n
