"""How fast one job goes through the running stack, and what the stack costs when idle.

    make up SCRAPEJOBS_EGRESS_ALLOW=127.0.0.0/8     (in another terminal)
    .venv/bin/python -m benchmarks.main_path [JOBS]

Latency is told by the database's clock: from `created_at` (before the 202) to the start of the attempt and to the
stored result. Beside it, in the same run, the floor: the same page fetched and put by the same code with nothing
between, and two durable commits. Idle cost is counted over 20 s; memory is each process's resident set.
"""

import asyncio
import os
import statistics
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg
import requests

from scrapejobs.config import Config, load_or_exit, stack_env

PAGE = os.urandom(200 * 1024)
PAUSE_S = 0.01
APART_S = 0.2  # fewer starts a second than a host may have: the queue is measured, not a limit
REST_S = 10.0
IDLE_S = 20.0


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


def main(jobs: int) -> None:
    config = load_or_exit()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/page"
    floor = asyncio.run(floors(config, url, jobs))
    accept, start, stored = through_the_service(config, url, jobs)
    row("202 answered (client's clock)", accept)
    row("created to attempt started", start)
    row("created to stored", stored)
    row("floor: fetch, put, two commits", floor)
    print(f"created to stored / floor, median: {statistics.median(stored) / statistics.median(floor):.2f}")
    time.sleep(REST_S)
    print(f"queries a second when idle, over {IDLE_S:g} s: {queries_a_second(config):.1f}")
    memory(config)


def row(what: str, seconds: list[float]) -> None:
    p50, p95 = statistics.median(seconds) * 1000, statistics.quantiles(seconds, n=20)[18] * 1000
    print(f"{what:34} p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   n {len(seconds)}")


def through_the_service(config: Config, url: str, jobs: int) -> tuple[list[float], list[float], list[float]]:
    """Hands jobs in one after another, each on an idle system."""
    from scrapejobs.ops.local.data_dir import recall_access

    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {recall_access(stack_env().parent).api_key}"
    accept, ids = [], []
    for _ in range(jobs):
        began = time.perf_counter()
        answer = session.post(f"{config.api_url}/jobs", json={"url": url}, timeout=10)
        answer.raise_for_status()
        accept.append(time.perf_counter() - began)
        ids.append(answer.json()["id"])
        while session.get(f"{config.api_url}/jobs/{ids[-1]}", timeout=10).json()["status"] in {"queued", "running"}:
            time.sleep(PAUSE_S)
        time.sleep(APART_S)
    with psycopg.connect(config.database_url.get_secret_value()) as conn:
        rows = conn.execute(
            "SELECT extract(epoch FROM started_at - created_at)::float8,"
            " extract(epoch FROM finished_at - created_at)::float8"
            " FROM job WHERE id = ANY (%s) AND final_state = 'succeeded'",
            [ids],
        ).fetchall()
    if len(rows) != jobs:
        sys.exit(f"{jobs - len(rows)} jobs did not succeed: is SCRAPEJOBS_EGRESS_ALLOW=127.0.0.0/8 set for the stack?")
    return accept, [start for start, _ in rows], [stored for _, stored in rows]


async def floors(config: Config, url: str, n: int) -> list[float]:
    """The same work with no queue between: fetch, put, look, and two commits on one connection."""
    from scrapejobs.adapters.fetcher import Fetched, Fetcher, FetchRequest
    from scrapejobs.adapters.storage import object_store
    from scrapejobs.ops.roles import fetch_limits

    fetcher, store, took = Fetcher(fetch_limits(config)), object_store(config), []
    conn = await psycopg.AsyncConnection.connect(config.database_url.get_secret_value(), autocommit=True)
    for i in range(n):
        began = time.perf_counter()
        await conn.execute("SELECT pg_current_xact_id()")
        fetched = await fetcher.fetch(FetchRequest(url))
        assert isinstance(fetched, Fetched), fetched
        with fetched.body:
            await store.put(f"benchmark/{i}", fetched.body, size=fetched.size, sha256=fetched.sha256, content_type=None)
        await store.head(f"benchmark/{i}")
        await conn.execute("SELECT pg_current_xact_id()")
        took.append(time.perf_counter() - began)
    store.delete_prefix("benchmark/")
    await store.close()
    await conn.close()
    return took


def queries_a_second(config: Config) -> float:
    count = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    with psycopg.connect(config.database_url.get_secret_value(), autocommit=True) as conn:
        before = conn.execute(count).fetchone()
        time.sleep(IDLE_S)
        after = conn.execute(count).fetchone()
    assert before
    assert after
    return float(after[0] - before[0]) / IDLE_S


def memory(config: Config) -> None:
    """Resident and proportional set size of every role of this stack, a gateway with the child that serves."""
    ours = f"DATABASE_URL={config.database_url.get_secret_value()}".encode()
    for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            argv = (process / "cmdline").read_bytes().decode().split("\0")
            if ours not in (process / "environ").read_bytes().split(b"\0"):
                continue
            lines = (process / "smaps_rollup").read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        kib = {line.split()[0]: int(line.split()[1]) for line in lines if line.startswith(("Rss:", "Pss:"))}
        if "run_role" in argv or "--multiprocessing-fork" in argv:
            role = argv[argv.index("run_role") + 1] if "run_role" in argv else "gateway's child"
            print(f"{role:18} rss {kib['Rss:'] / 1024:6.0f} MiB   pss {kib['Pss:'] / 1024:6.0f} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
