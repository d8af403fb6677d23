"""What only the real HTTP server shows: slow and broken clients."""

import socket
from pathlib import Path

import pytest
import requests

from scrapejobs.adapters.embedded import free_port
from tests.e2e.service import Service

N_SLOW = 12  # more than there are threads


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
