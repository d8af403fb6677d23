"""A host that others redirect to keeps its limits, by its own log, also when a worker dies in mid-request."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.e2e.service import Service
from tests.e2e.waiting import wait_until

RATE, BURST = 5.0, 2
READY_TTL_S = 1.0
SETTINGS = {
    "SCRAPEJOBS_LEASE_S": "3",
    "SCRAPEJOBS_SWEEP_S": "1",
    "SCRAPEJOBS_DISPATCH_LEASE_S": "2",
    "SCRAPEJOBS_READY_TTL_S": str(READY_TTL_S),
}
BUSY_S = 0.03


class Site:
    """127.0.0.1 is fast and redirects `/away/...` to 127.0.0.2, which notes when each request came and ended. There
    `/twice/...` redirects to the same host again, and `/hold` answers when it is released or the client is gone.
    """

    def __init__(self) -> None:
        self.log: list[tuple[float, float]] = []
        self.held = 0
        self.released = threading.Event()
        self._servers: list[_Server] = []
        port = 0
        for address in ("127.0.0.1", "127.0.0.2"):
            server = _Server((address, port), _Handler)
            server.site = self
            port = server.server_address[1]
            self._servers.append(server)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.port = port

    def url(self, path: str, *, host: int = 1) -> str:
        return f"http://127.0.0.{host}:{self.port}{path}"

    def close(self) -> None:
        self.released.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def most_at_once(self) -> int:
        """Requests under way at the same time, at most."""
        changes = sorted([(came, 1) for came, _ in self.log] + [(ended, -1) for _, ended in self.log])
        now = most = 0
        for _, change in changes:
            now += change
            most = max(most, now)
        return most

    def over(self, *, late_s: float) -> int:
        """Windows with more requests than rate x window + burst, if each may come so long after its token was spent."""
        came = sorted(began for began, _ in self.log)
        return sum(
            j - i + 1 > RATE * (came[j] - came[i] + late_s) + BURST
            for i in range(len(came))
            for j in range(i, len(came))
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    site: Site

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the test."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        site, (_, kind, *rest) = self.server.site, self.path.split("/")
        if kind == "away":
            self._answer(302, site.url("/" + "/".join(rest), host=2))
            return
        came = time.monotonic()
        if kind == "hold":
            self._hold()
        else:
            time.sleep(BUSY_S)
        site.log.append((came, time.monotonic()))
        self._answer(*((302, site.url("/page/" + rest[0], host=2)) if kind == "twice" else (200, None)))

    def _hold(self) -> None:
        """Until released, or the client has gone."""
        site = self.server.site
        site.held += 1
        self.connection.settimeout(0.02)
        while not site.released.is_set():
            try:
                if not self.connection.recv(1):
                    return
            except TimeoutError:
                continue
            except OSError:
                return

    def _answer(self, status: int, location: str | None) -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """The list of times is the log."""


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.mark.req("NFR-6")
@pytest.mark.case("S24")
@pytest.mark.timeout(180)
@pytest.mark.parametrize("service", [SETTINGS], indirect=True)
def test_a_host_that_redirects_lead_to_keeps_its_limits_also_when_a_worker_is_killed_there(
    service: Service, site: Site
) -> None:
    *_, first, second = service.start_all(workers=2)
    service.manage("hosts", "set", "127.0.0.2", "--rate", str(RATE), "--burst", str(BURST), "--concurrency", "1")
    held = service.submit(site.url("/away/hold"))
    wait_until(lambda: site.held == 1, what="an attempt to be held where it was redirected to")
    jobs = [service.submit(site.url(f"/away/page/{n}")) for n in range(8)]
    jobs += [service.submit(site.url(f"/away/twice/{n}")) for n in range(8)]
    jobs += [service.submit(site.url(f"/page/direct-{n}", host=2)) for n in range(6)]
    wait_until(lambda: service.rows("SELECT count(*) FROM permit") == [(17,)], what="the others to ask as well")
    ((name,),) = service.rows("SELECT worker FROM lease JOIN permit USING (seq) WHERE given_at IS NOT NULL")
    {"w0": first, "w1": second}[name].kill()
    site.released.set()
    service.wait_ready(service.start("worker", "--name", "third"))
    for job_id in [held, *jobs]:
        assert service.wait_for(job_id, "succeeded", "failed")["status"] == "succeeded"
    n_requests = 1 + 1 + 8 + 2 * 8 + 6  # the held one twice
    assert len(site.log) >= n_requests
    assert site.most_at_once() == 1
    assert site.over(late_s=READY_TTL_S) == 0
    service.wait_all_final()
    service.check_nothing_left()
    assert service.rows("SELECT count(*) FROM permit") == [(0,)]
