"""What only the real HTTP server shows: slow and broken clients."""

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from scrapejobs.adapters.embedded import free_port
from tests.e2e.service import Service

N_SLOW = 12  # more than there are threads
N_HELD = 300


def begun(service: Service, *, length: int) -> socket.socket:
    """A connection whose request has its head and the first byte of its body."""
    connection = socket.create_connection(("127.0.0.1", service.port), timeout=30)
    head = (
        f"POST /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {service.key('acme')}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{{"
    )
    connection.sendall(head.encode())
    return connection


def answer(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
    received = b""
    while piece := connection.recv(4096):
        received += piece
    return received


@pytest.mark.req("NFR-1")
@pytest.mark.case("in-035")
def test_slow_bodies_hold_no_thread_and_end_with_408(service: Service) -> None:
    service.wait_ready(service.start("gateway", SCRAPEJOBS_BODY_TIMEOUT_S="3"))
    slow = [begun(service, length=100) for _ in range(N_SLOW)]
    assert requests.get(f"http://127.0.0.1:{service.port}/healthz", timeout=2).status_code == 200
    for connection in slow:
        with connection:
            told = answer(connection)
            assert told.startswith(b"HTTP/1.1 408 "), told
            assert b"application/problem+json" in told
            assert b'"/problems/request-timeout"' in told
            assert b"x-request-id: " in told


@pytest.mark.case("in-032")
def test_a_body_that_says_it_is_huge_is_refused_before_it_is_sent(service: Service) -> None:
    service.wait_ready(service.start("gateway"))
    with begun(service, length=60_000_000) as connection:
        told = answer(connection)
    assert told.startswith(b"HTTP/1.1 413 "), told
    assert b'"/problems/payload-too-large"' in told


@pytest.mark.req("NFR-2")
def test_a_client_that_goes_away_leaves_the_gateway_serving(service: Service) -> None:
    service.wait_ready(service.start("gateway", SCRAPEJOBS_BODY_TIMEOUT_S="3"))
    for _ in range(N_SLOW):
        begun(service, length=100).close()
    assert requests.get(f"http://127.0.0.1:{service.port}/healthz", timeout=2).status_code == 200


@pytest.mark.req("FR-13")
@pytest.mark.case("S24")
def test_what_a_killed_gateway_left_on_disk_is_removed_and_what_a_living_one_has_is_not(
    service: Service, tmp_path: Path
) -> None:
    def folders() -> set[Path]:
        return set(tmp_path.glob("scrapejobs-metrics-*"))

    killed = service.start("gateway", TMPDIR=str(tmp_path))
    service.wait_ready(killed)
    left = folders()
    killed.kill()
    assert folders() == left
    assert len(left) == 1
    living = service.start("gateway", TMPDIR=str(tmp_path))
    service.wait_ready(living)
    mine = folders()
    assert len(mine) == 1
    assert mine.isdisjoint(left)
    another = service.start("gateway", TMPDIR=str(tmp_path), PORT=str(free_port()))
    service.wait_ready(another)
    assert mine < folders()
    assert (living.stop(), another.stop()) == (0, 0)
    assert folders() == set()


@pytest.mark.req("FR-3")
@pytest.mark.req("NFR-1")
def test_a_long_stream_of_lines_is_answered_line_by_line_and_held_nowhere(service: Service) -> None:
    """Sent by a client that reads nothing before it has sent all, in pieces that end anywhere."""
    gateway = service.start("gateway")
    service.wait_ready(gateway)
    before = rss_of_family(gateway.process.pid)
    told = post_lines(service, n=12_000, bad=(7, 11_999))
    assert [number for number, item in enumerate(told) if "type" in item] == [7, 11_999]
    assert len({item["id"] for item in told if "id" in item}) == 11_998
    assert service.rows("SELECT count(*) FROM job") == [(11_998,)]
    assert rss_of_family(gateway.process.pid) - before < 64 * 1024 * 1024
    again = post_lines(service, n=12_000, bad=(7, 11_999))
    assert [item.get("id") for item in again] == [item.get("id") for item in told]
    assert service.rows("SELECT count(*) FROM job") == [(11_998,)]


def post_lines(service: Service, *, n: int, bad: tuple[int, ...]) -> list[dict[str, object]]:
    def chunks() -> Iterator[bytes]:
        text = b"".join(
            b'{"url":"%s","tags":{"n":"%d"}}\n' % (b"http://10.0.0.1/" if i in bad else b"https://www.example.com/", i)
            for i in range(n)
        )
        for start in range(0, len(text), 50_021):
            yield text[start : start + 50_021]

    headers = {
        "Authorization": f"Bearer {service.key('acme')}",
        "Content-Type": "application/x-ndjson",
        "Idempotency-Key": "all-of-them",
    }
    reply = requests.post(f"http://127.0.0.1:{service.port}/jobs/bulk", data=chunks(), headers=headers, timeout=100)
    assert (reply.status_code, reply.headers["Content-Type"]) == (202, "application/x-ndjson")
    return [json.loads(line) for line in reply.iter_lines()]


def rss_of_family(pid: int) -> int:
    """Bytes of a process and of its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pages = [int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in [pid, *children]]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.req("FR-3")
@pytest.mark.case("in-035")
def test_a_stream_that_stands_still_keeps_what_is_in_and_says_so(service: Service) -> None:
    service.wait_ready(service.start("gateway", SCRAPEJOBS_BODY_TIMEOUT_S="1"))
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
        head = (
            f"POST /jobs/bulk HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {service.key('acme')}\r\n"
            "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        lines = b'{"url":"https://www.example.com/"}\n' * 1500
        connection.sendall(head.encode() + b"%x\r\n%s\r\n" % (len(lines), lines))
        told = answer(connection)
    assert told.startswith(b"HTTP/1.1 202 "), told[:200]
    assert told.count(b'"links"') == 1000
    assert b'"/problems/request-timeout"' in told.splitlines()[-1]
    assert service.rows("SELECT count(*) FROM job") == [(1000,)]


@pytest.mark.req("FR-3")
def test_a_stream_without_a_key_is_refused_as_any_request(service: Service) -> None:
    service.wait_ready(service.start("gateway"))
    url, headers = f"http://127.0.0.1:{service.port}/jobs/bulk", {"Content-Type": "application/x-ndjson"}
    reply = requests.post(url, data=b'{"url":"https://www.example.com/"}\n', headers=headers, timeout=30)
    assert (reply.status_code, reply.headers["Content-Type"]) == (401, "application/problem+json")


def held(service: Service, path: str) -> socket.socket:
    """A connection whose client waits for up to 30 s."""
    connection = socket.create_connection(("127.0.0.1", service.port), timeout=60)
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {service.key('acme')}\r\nPrefer: wait=30"
    connection.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode())
    return connection


def told(connections: list[socket.socket]) -> set[str]:
    """The statuses that are answered, and the connections are closed."""
    answers = []
    for connection in connections:
        with connection:
            answers.append(answer(connection))
    assert {text.split(b" ", 2)[1] for text in answers} == {b"200"}
    return {json.loads(text.partition(b"\r\n\r\n")[2])["status"] for text in answers}


@pytest.mark.req("FR-4")
@pytest.mark.req("P8")
def test_hundreds_wait_without_a_thread_each_are_told_at_once_and_let_go_at_a_stop(service: Service) -> None:
    gateway, publisher = service.start("gateway"), service.start("publisher")
    service.wait_ready(gateway)
    service.wait_ready(publisher)
    first, second = service.submit("http://127.0.0.1:8999/"), service.submit("http://127.0.0.1:8999/")
    waiting = [held(service, f"/jobs/{first}") for _ in range(N_HELD)]
    for _ in range(N_SLOW):
        held(service, f"/jobs/{first}").close()
    began = time.monotonic()
    assert service.ask("POST", f"/jobs/{first}/cancel").status_code == 202
    assert told(waiting) == {"cancelled"}
    assert time.monotonic() - began < 15  # of 30 that they asked for
    waiting = [held(service, f"/jobs/{second}") for _ in range(N_SLOW)]
    assert service.ask("GET", f"/jobs/{second}", headers={"Prefer": "wait=1"}).json()["status"] == "queued"
    began = time.monotonic()
    assert gateway.stop() == 0
    assert told(waiting) == {"queued"}
    assert time.monotonic() - began < 15
