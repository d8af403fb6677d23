"""Every hostile target at once, through the whole service, with healthy hosts beside: each job ends as the table says.

One run for all tests: they look at what became of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from scrapejobs.adapters.embedded import Servers
from scrapejobs.domain.outcome import class_of
from tests import servers as shared
from tests.e2e.hostile import BRIEF, ROWS, TEXT, Hostile, Row, hostile
from tests.e2e.service import Service

N_HEALTHY = 20
MOODY: dict[str, tuple[int, dict[str, Any]]] = {
    "50": (5, {"max_attempts": 1}),
    "51": (8, {"max_attempts": 9}),
    "52": (1, {"max_attempts": 2, **BRIEF}),
}
SLOTS = len(ROWS) + N_HEALTHY + sum(n for n, _ in MOODY.values())
MOST_MIB = 300
SETTINGS = {"SCRAPEJOBS_MIN_RATE_AFTER_S": "1", "SCRAPEJOBS_CONNECT_TIMEOUT_S": "30"}


@dataclass(frozen=True)
class Run:
    """What became of it, by the name of the row."""

    service: Service
    target: Hostile
    logs: list[Path]
    jobs: dict[str, str]
    moody: dict[str, list[str]]
    healthy: list[dict[str, Any]]
    worker_mib: float

    def job(self, row: Row) -> dict[str, Any]:
        return self.service.job(self.jobs[row.name])

    def attempts(self, job_id: str) -> list[dict[str, Any]]:
        return list(self.service.ask("GET", f"/jobs/{job_id}/attempts").json()["items"])


@pytest.fixture(scope="module")
def run(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    directory = tmp_path_factory.mktemp("hostile")
    service = Service(servers, directory, **SETTINGS)
    with hostile(directory) as target:
        roles = [service.start(role) for role in ("gateway", "publisher", "scheduler")]
        for role in roles:
            service.wait_ready(role)
        jobs = {
            row.name: service.submit(target.url_of(row), params={"timeout_s": 30, "max_attempts": 1, **row.params})
            for row in ROWS
        }
        service.manage("hosts", "set", "127.4.0.50", "--concurrency", "1")
        moody = {
            name: [service.submit(target.moody_url(name), params=params) for _ in range(n)]
            for name, (n, params) in MOODY.items()
        }
        healthy = [service.submit(target.healthy_url(n), tenant="healthy") for n in range(1, N_HEALTHY + 1)]
        worker = service.start("worker", "--slots", str(SLOTS))
        service.wait_all_final()
        status = Path(f"/proc/{worker.process.pid}/status").read_text()
        peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        ended = [service.job(id_, tenant="healthy") for id_ in healthy]
        yield Run(service, target, [role.log for role in roles], jobs, moody, ended, peak / 1024)
        service.close()
    with psycopg.connect(servers.environment["DATABASE_URL"], autocommit=True) as conn:
        shared.wipe(conn)


@pytest.mark.req("NFR-7")
@pytest.mark.parametrize("row", [pytest.param(row, id=row.name, marks=pytest.mark.case(row.case)) for row in ROWS])
def test_a_job_on_a_hostile_target_ends_as_the_table_says(run: Run, row: Row) -> None:
    job, (attempt,) = run.job(row), run.attempts(run.jobs[row.name])
    assert run.target.n_requests(row.name) == attempt["wire_requests"] - (row.name == "36") == row.n_requests
    if row.code is None:
        assert row.body is not None
        assert (job["status"], job["last_error"]) == ("succeeded", None)
        assert (job["result"]["size"], job["result"]["sha256"]) == (len(row.body), sha256(row.body).hexdigest())
        return
    error = job["last_error"]
    assert (job["status"], error["class"], error["code"]) == ("failed", class_of(row.code), row.code)
    assert row.phase in {None, attempt["phase"]}
    assert job["result"] is None


@pytest.mark.case("target-32")
@pytest.mark.parametrize("row", [row for row in ROWS if row.name == "32"], ids=["svg"])
def test_what_a_browser_would_run_is_handed_out_as_an_attachment_of_bytes(run: Run, row: Row) -> None:
    link = run.service.ask("GET", f"/jobs/{run.jobs[row.name]}/result").json()["url"]
    answer = requests.get(link, timeout=10)
    assert answer.content == row.body
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment")


@pytest.mark.case("target-8")
@pytest.mark.case("target-13")
@pytest.mark.req("NFR-7")
def test_all_of_them_at_once_take_little_memory(run: Run) -> None:
    assert run.worker_mib < MOST_MIB


@pytest.mark.case("target-7")
@pytest.mark.req("NFR-8")
def test_healthy_hosts_are_served_while_hostile_ones_hold_their_slots(run: Run) -> None:
    held = [run.job(row) for row in ROWS if row.params is BRIEF]
    first_free = min(datetime.fromisoformat(job["finished_at"]) for job in held)
    for job in run.healthy:
        assert (job["status"], job["result"]["sha256"]) == ("succeeded", sha256(TEXT).hexdigest())
        assert datetime.fromisoformat(job["finished_at"]) < first_free


@pytest.mark.req("NFR-6")
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.case(f"target-{name}")) for name in MOODY])
def test_what_fails_now_and_then_succeeds_in_the_end_and_every_request_is_an_attempt(run: Run, name: str) -> None:
    attempts = [run.attempts(job_id) for job_id in run.moody[name]]
    assert [made[-1]["outcome"] for made in attempts] == ["stored"] * len(attempts)
    assert sum(map(len, attempts)) == run.target.n_requests(name)
    failed = {(attempt["outcome"], attempt["code"]) for made in attempts for attempt in made[:-1]}
    expected = {"50": set(), "51": {("temporary", "connection_reset")}, "52": {("temporary", "timeout")}}
    assert failed == expected[name]


@pytest.mark.case("target-51")
def test_the_circuit_of_a_host_that_fails_now_and_then_stays_closed(run: Run) -> None:
    lines = [line for path in run.logs for line in path.read_text().splitlines() if "circuit_changed" in line]
    assert not [line for line in lines if '"127.4.0.51"' in line]
