"""The request on the wire, the way to the target, and connections that are cut, hang or drip."""

import asyncio
import hashlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from scrapejobs.adapters.fetcher import Fetcher, FetchLimits, FetchRequest
from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.outcome import Permanent, Temporary
from tests.integration.fetching import (
    AS_GZIP,
    BODY,
    CHUNKED,
    GZIP,
    LENGTH_100,
    NO_LENGTH,
    failed,
    fetched,
    fetcher_with,
    hang,
    head,
    lookup,
    redirect,
    then,
)
from tests.integration.raw_target import RawTarget, Request, raw_target, response


@pytest.mark.req("FR-1")
async def test_the_targets_bytes_come_back_with_their_hash_and_what_was_seen(
    target: RawTarget, fetcher: Fetcher
) -> None:
    target.answers["/page"] = response(BODY, headers="Content-Type: Text/HTML; charset=KOI8-R\r\n")
    outcome, body = await fetched(fetcher, target.url("/page"))
    assert body == BODY
    assert (outcome.size, outcome.sha256) == (len(BODY), hashlib.sha256(BODY).hexdigest())
    assert (outcome.content_type, outcome.charset, outcome.status) == ("text/html", "koi8-r", 200)
    assert (outcome.complete, outcome.flags) == ("yes", ())
    exchange = outcome.exchange
    assert (exchange.phase, exchange.target_status, exchange.wire_requests) == ("body", 200, 1)
    assert (exchange.bytes_read, exchange.address_family) == (len(BODY), "ipv4")
    assert set(exchange.timings) == {"connect", "headers", "body"}
    assert 0 < sum(exchange.timings.values()) <= exchange.elapsed_s
    assert exchange.address == "127.0.0.1"


@pytest.mark.req("FR-1")
async def test_the_request_on_the_wire_is_the_one_asked_for(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/A_%26_B"] = response(b"x")
    await fetched(
        fetcher,
        target.url("/A_%26_B?s=%2F%27'%3a"),
        method="POST",
        headers={"X-Api-Key": "k", "user-agent": "mine"},
        query={"q": "a b"},
        body=b"payload",
    )
    (request,) = target.requests
    assert (request.method, request.path, request.body) == ("POST", "/A_%26_B?s=%2F%27'%3a&q=a%20b", b"payload")
    assert request.headers["x-api-key"] == "k"
    assert request.headers["user-agent"] == "mine"
    assert request.headers["connection"] == "close"
    assert "content-type" not in request.headers


@pytest.mark.case("target-1")
async def test_a_target_that_never_answers_is_a_timeout_at_the_deadline(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = hang
    outcome = await failed(fetcher, target.url("/"), timeout_s=0.3)
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.phase) == ("timeout", "headers")
    assert 0.3 <= outcome.exchange.elapsed_s < 1.0


@pytest.mark.case("target-2")
async def test_a_target_that_never_accepts_is_a_timeout_of_the_connect_phase() -> None:
    async with full_backlog() as port:
        outcome = await failed(fetcher_with(connect_timeout_s=0.3), f"http://127.0.0.1:{port}/")
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.phase) == ("timeout", "connect")


@asynccontextmanager
async def full_backlog() -> AsyncIterator[int]:
    """A port whose queue of connections is full: a further SYN gets no answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        port = server.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        yield port
        for each in waiting:
            each.close()


@pytest.mark.case("target-3")
async def test_a_closed_port_refuses_the_connection(fetcher: Fetcher) -> None:
    async with raw_target() as gone:
        url = gone.url("/")
    outcome = await failed(fetcher, url)
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.phase) == ("connection_refused", "connect")
    assert outcome.exchange.wire_requests == 0


@pytest.mark.req("NFR-7")
@pytest.mark.parametrize(
    ("answer", "code", "detail"),
    [
        pytest.param(
            then(LENGTH_100 + b"x", reset_it=True), "connection_reset", "", marks=pytest.mark.case("target-4")
        ),
        pytest.param(then(NO_LENGTH + b"x", reset_it=True), "connection_reset", "", marks=pytest.mark.case("target-4")),
        pytest.param(b"", "disconnected", "", marks=pytest.mark.case("target-5")),
        pytest.param(LENGTH_100 + b"xyz", "body_incomplete", "got 3 of 100 bytes", marks=pytest.mark.case("target-10")),
        pytest.param(CHUNKED + b"3\r\nabc\r\n", "body_incomplete", "", marks=pytest.mark.case("target-11")),
        pytest.param(response(GZIP[:-12], headers=AS_GZIP), "body_incomplete", "", marks=pytest.mark.case("target-14")),
        pytest.param(response(GZIP[:-4], headers=AS_GZIP), "body_incomplete", "", marks=pytest.mark.case("target-14")),
        pytest.param(
            response(GZIP[:-5] + bytes([GZIP[-5] ^ 1]) + GZIP[-4:], headers=AS_GZIP),
            "body_corrupt",
            "",
            marks=pytest.mark.case("target-15"),
        ),
    ],
)
async def test_an_answer_cut_short_is_temporary_and_never_a_result(
    target: RawTarget, fetcher: Fetcher, answer: Any, code: str, detail: str
) -> None:
    target.answers["/"] = answer
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Temporary)
    assert outcome.code == code
    assert detail in outcome.detail


@pytest.mark.req("P4")
@pytest.mark.req("NFR-6")
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "POST"])
@pytest.mark.parametrize(("with_reset", "code"), [(False, "disconnected"), (True, "connection_reset")])
async def test_a_request_whose_connection_is_cut_is_not_sent_again(
    target: RawTarget, fetcher: Fetcher, method: str, with_reset: bool, code: str
) -> None:
    target.answers["/"] = then(b"", reset_it=with_reset)
    outcome = await failed(fetcher, target.url("/"), method=method)
    assert (type(outcome), outcome.code) == (Temporary, code)
    assert len(target.requests) == 1
    assert outcome.exchange is not None
    assert outcome.exchange.wire_requests == 1


@pytest.mark.case("target-6")
async def test_only_the_total_deadline_ends_an_endless_header(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = then(head("HTTP/1.1 200 OK\nX: "), drip=b"x", every_s=0.02)
    outcome = await failed(fetcher, target.url("/"), timeout_s=0.3)
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.phase) == ("timeout", "headers")


@pytest.mark.case("target-34")
@pytest.mark.req("NFR-11")
async def test_loopback_is_blocked_without_the_operators_word(target: RawTarget) -> None:
    fetcher = Fetcher(FetchLimits(policy=EgressPolicy()), lookup=lookup)
    for url in (target.url("/"), target.url("/", host="a.example")):
        outcome = await failed(fetcher, url)
        assert isinstance(outcome, Permanent)
        assert outcome.code == "blocked_address"
    assert target.n_connections == 0


@pytest.mark.case("target-41")
@pytest.mark.req("NFR-11")
@pytest.mark.parametrize("host", ["inside.example", "mixed.example"])
async def test_a_name_with_one_denied_address_is_not_dialled(target: RawTarget, fetcher: Fetcher, host: str) -> None:
    outcome = await failed(fetcher, target.url("/", host=host))
    assert isinstance(outcome, Permanent)
    assert (outcome.code, outcome.phase) == ("blocked_address", "dns")
    assert target.n_connections == 0


@pytest.mark.case("target-42")
@pytest.mark.parametrize(
    ("host", "kind", "code"),
    [("gone.example", Permanent, "dns_not_found"), ("failing.example", Temporary, "dns_temporary")],
)
async def test_a_missing_name_is_told_from_a_failing_resolver(
    fetcher: Fetcher, host: str, kind: type, code: str
) -> None:
    outcome = await failed(fetcher, f"http://{host}/")
    assert isinstance(outcome, kind)
    assert (outcome.code, outcome.phase) == (code, "dns")


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_a_cancelled_fetch_closes_its_connection_at_once(target: RawTarget, fetcher: Fetcher) -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def note_the_close(request: Request, writer: asyncio.StreamWriter) -> None:
        del request
        writer.write(NO_LENGTH + b"x")
        begun.set()
        try:
            while True:
                writer.write(b"x" * 65_536)
                await writer.drain()
        except ConnectionError:
            closed.set()

    target.answers["/"] = note_the_close
    fetching = asyncio.create_task(fetcher.fetch(FetchRequest(target.url("/"), max_bytes=1 << 40)))
    await asyncio.wait_for(begun.wait(), 5)
    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching
    await asyncio.wait_for(closed.wait(), 2)


@pytest.mark.req("FR-7")
async def test_the_time_of_each_phase_is_told_redirects_together(target: RawTarget, fetcher: Fetcher) -> None:
    async def late(request: Request, writer: asyncio.StreamWriter) -> None:
        del request
        await asyncio.sleep(0.1)
        writer.write(redirect("/end"))
        await writer.drain()

    async def slow(request: Request, writer: asyncio.StreamWriter) -> None:
        del request
        writer.write(LENGTH_100)
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.write(b"x" * 100)
        await writer.drain()

    target.answers |= {"/": late, "/end": slow}
    outcome, _ = await fetched(fetcher, target.url("/", host="a.example"))
    timings = outcome.exchange.timings
    assert set(timings) == {"dns", "connect", "headers", "body"}
    assert min(timings["headers"], timings["body"]) >= 0.09
    assert sum(timings.values()) <= outcome.exchange.elapsed_s


@pytest.mark.case("target-23")
@pytest.mark.case("target-48")
@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"220 mail ready\r\n", "not_http"),
        (b"HTTP/1.1 413 Too much\r\nContent-Length: 0\r\n\r\n", "http_413"),
    ],
    ids=["banner", "refusal"],
)
async def test_a_target_that_speaks_before_the_request_has_come_is_heard(
    fetcher: Fetcher, said: bytes, code: str
) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
        outcome = await failed(fetcher, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    assert (type(outcome), outcome.code) == (Permanent, code)
