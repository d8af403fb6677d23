"""Requests as no library would send them: each gets an answer, and none becomes a job by mistake (FR-1)."""

import socket
from collections.abc import Iterator

import psycopg
import pytest

from scrapejobs.adapters.embedded import Servers
from tests import servers as shared
from tests.e2e.service import Service
from tests.e2e.test_gateway import answer

GOOD = b'{"url":"https://www.example.com/"}'
POST = "POST /jobs HTTP/1.1|Content-Type: application/json|"
CHUNKED = POST + "Transfer-Encoding: chunked"

ODD = {
    # what is asked: head with | for line ends, body, status, problem (None: the server's own answer, without a body)
    "a method in lower case is another one": ("get /jobs HTTP/1.1", b"", 400, "bad-request"),
    "TRACE": ("TRACE /jobs HTTP/1.1", b"", 405, "method-not-allowed"),
    "CONNECT": ("CONNECT a.example:443 HTTP/1.1", b"", 404, "not-found"),
    "OPTIONS": ("OPTIONS /jobs HTTP/1.1", b"", 405, "method-not-allowed"),
    "the server as a whole": ("OPTIONS * HTTP/1.1", b"", 404, "not-found"),
    "a method nobody knows": ("BREW /jobs HTTP/1.1", b"", 405, "method-not-allowed"),
    "bytes beyond ASCII in a path": ("GET /jobs/\xc3\xa9 HTTP/1.1", b"", 404, "not-found"),
    "bytes of no text in a path": ("GET /jobs/\xe9 HTTP/1.1", b"", 400, None),
    "bytes beyond ASCII in a query": ("GET /jobs?host=\xe6\x97\xa5 HTTP/1.1", b"", 400, "bad-request"),
    "a NUL in a path": ("GET /jobs/%00 HTTP/1.1", b"", 404, "not-found"),
    "a header with an underscore is another one": (POST + "Idempotency_Key: a b", b"", 400, "invalid-json"),
    "a key beyond ASCII": (POST + "Idempotency-Key: \xe9|Content-Length: 34", GOOD, 400, "invalid-idempotency-key"),
    "a body that is cut off": (POST + "Content-Length: 100", GOOD, 400, "bad-request"),
    "a body in chunks": (CHUNKED, b"22\r\n" + GOOD + b"\r\n0\r\n\r\n", 411, "length-required"),
    "a chunk of no size": (CHUNKED, b"zz\r\n", 411, "length-required"),
    "a chunk without end": (CHUNKED, b"fffffffffffffffff\r\n", 411, "length-required"),
    "two ways to say how long": (CHUNKED + "|Content-Length: 34", b"0\r\n\r\n", 411, "length-required"),
    "a body of unknown coding": (POST + "Transfer-Encoding: gzip, chunked", b"0\r\n\r\n", 411, "length-required"),
    "a length that is no number": (POST + "Content-Length: +34", GOOD, 400, None),
    "two lengths": (POST + "Content-Length: 34|Content-Length: 3", GOOD, 400, None),
    "a control character in a header": ("GET /jobs HTTP/1.1|X-Request-Id: a\x01b", b"", 400, None),
    "a folded header": ("GET /jobs HTTP/1.1|X-Request-Id: a| b", b"", 400, None),
    "a space before the colon": ("GET /jobs HTTP/1.1|X-Request-Id : a", b"", 400, None),
    "too many headers": ("GET /jobs HTTP/1.1" + "".join(f"|X-{i}: a" for i in range(101)), b"", 431, None),
    "a path that is too long": ("GET /jobs?tag.a=" + "a" * 70_000 + " HTTP/1.1", b"", 414, None),
    "no HTTP": ("\x16\x03\x01", b"", 400, None),
}


@pytest.fixture(scope="module")
def gateway(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for all requests that change nothing."""
    service = Service(servers, tmp_path_factory.mktemp("gateway"), SCRAPEJOBS_BODY_TIMEOUT_S="3")
    service.wait_ready(service.start("gateway"))
    yield service
    service.close()
    with psycopg.connect(servers.environment["DATABASE_URL"], autocommit=True) as conn:
        shared.wipe(conn)


def sent(gateway: Service, data: bytes, *, says_no_more: bool = False) -> bytes:
    """All that is answered to these bytes."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as connection:
        connection.sendall(data)
        if says_no_more:
            connection.shutdown(socket.SHUT_WR)
        return answer(connection)


@pytest.mark.req("FR-1")
@pytest.mark.parametrize("what", ODD)
def test_whatever_a_client_sends_is_answered_and_not_taken_for_a_job(gateway: Service, what: str) -> None:
    head, body, status, problem = ODD[what]
    key = gateway.key("acme")
    lines = [*head.split("|"), "Host: 127.0.0.1", f"Authorization: Bearer {key}", "Connection: close", "", ""]
    told = sent(gateway, "\r\n".join(lines).encode("latin-1") + body, says_no_more="cut off" in what)
    assert told.startswith(f"HTTP/1.1 {status} ".encode()), told[:300]
    if problem:
        assert f'"type":"/problems/{problem}"'.encode() in told
        assert b"content-type: application/problem+json" in told
        assert b"x-request-id: " in told
    assert gateway.rows("SELECT count(*) FROM job") == [(0,)]


@pytest.mark.req("FR-1")
def test_a_request_names_its_host(gateway: Service) -> None:
    ask = b"GET /healthz HTTP/1.1\r\nConnection: close\r\n"
    assert b'"/problems/bad-host"' in sent(gateway, ask + b"\r\n")
    assert b'"/problems/bad-host"' in sent(gateway, ask + b"Host: a\r\nHost: 127.0.0.1\r\n\r\n")
    assert sent(gateway, ask + b"Host: 127.0.0.1\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert sent(gateway, b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.0 200 ")


@pytest.mark.req("FR-1")
def test_requests_sent_in_one_go_are_answered_one_by_one(gateway: Service) -> None:
    ask, last = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"Connection: close\r\n"
    told = sent(gateway, (ask + b"\r\n") * 2 + ask + last + b"\r\n")
    assert told.count(b"HTTP/1.1 200 ") == 3
