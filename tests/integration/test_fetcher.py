"""The fetcher against a target that sends exact bytes: each test is a row of the hostile targets."""

import asyncio
import contextlib
import gzip
import hashlib
import resource
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from scrapejobs.adapters.answer import Expectation
from scrapejobs.adapters.fetcher import Fetched, Fetcher, FetchLimits, FetchRequest
from scrapejobs.adapters.guard import LookupFailed, NameNotFound
from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.outcome import Permanent, Temporary
from tests.integration.raw_target import RawTarget, Request, raw_target, reset, response

LOOPBACK = EgressPolicy(allow=(ip_network("127.0.0.0/8"),))
NAMES = {"a.example": ["127.0.0.1"], "b.example": ["127.0.0.2"], "inside.example": ["10.0.0.1"]}
NAMES |= {"mixed.example": ["127.0.0.1", "10.0.0.1"]}
BODY = b"0123456789abcdef" * 4096
HELLO = b"hello, world. " * 100
GZIP = gzip.compress(HELLO, mtime=0)  # no time in the names of tests: xdist compares them
AS_GZIP = "Content-Encoding: gzip\r\n"


async def lookup(host: str) -> list[Any]:
    if host == "gone.example":
        raise NameNotFound
    if host == "failing.example":
        raise LookupFailed
    return [ip_address(address) for address in NAMES[host]]


@pytest.fixture
async def target() -> AsyncIterator[RawTarget]:
    async with raw_target() as running:
        yield running


@pytest.fixture
def fetcher() -> Fetcher:
    return fetcher_with()


def fetcher_with(**limits: Any) -> Fetcher:
    return Fetcher(FetchLimits(policy=LOOPBACK, **limits), lookup=lookup)


async def fetched(fetcher: Fetcher, url: str, **asked: Any) -> tuple[Fetched, bytes]:
    outcome = await fetcher.fetch(FetchRequest(url, **asked))
    assert isinstance(outcome, Fetched), outcome
    with outcome.body:
        return outcome, outcome.body.read()


async def failed(fetcher: Fetcher, url: str, **asked: Any) -> Temporary | Permanent:
    outcome = await fetcher.fetch(FetchRequest(url, **asked))
    assert not isinstance(outcome, Fetched), outcome
    assert outcome.exchange is not None
    return outcome


def head(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode("latin-1")


async def hang(request: Request, writer: asyncio.StreamWriter) -> None:
    del request, writer
    await asyncio.Event().wait()


def then(first: bytes, *, reset_it: bool = False, drip: bytes = b"", every_s: float = 0.0) -> Any:
    """Send these bytes; then cut, or go on with the drip for ever."""

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        del request
        writer.write(first)
        await writer.drain()
        while drip:
            writer.write(drip)
            await writer.drain()
            await asyncio.sleep(every_s)
        if reset_it:
            await asyncio.sleep(0.05)  # the first bytes are to arrive before the cut
            reset(writer)

    return answer


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


LENGTH_100 = head("HTTP/1.1 200 OK\nContent-Length: 100\n\n")
NO_LENGTH = head("HTTP/1.1 200 OK\n\n")
CHUNKED = head("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n")


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


@pytest.mark.case("target-7")
async def test_a_body_below_the_minimum_rate_is_too_slow(target: RawTarget) -> None:
    target.answers["/"] = then(NO_LENGTH, drip=b"x", every_s=0.05)
    outcome = await failed(fetcher_with(min_rate_after_s=0.2), target.url("/"), timeout_s=20)
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.phase) == ("too_slow", "body")
    assert outcome.exchange.elapsed_s < 2


@pytest.mark.case("target-7")
async def test_an_operator_may_switch_the_minimum_rate_off(target: RawTarget) -> None:
    target.answers["/"] = then(NO_LENGTH, drip=b"x", every_s=0.02)
    fetcher = fetcher_with(min_rate_after_s=0.05, min_rate_bytes_s=0)
    outcome = await failed(fetcher, target.url("/"), timeout_s=0.4)
    assert (outcome.code, outcome.phase) == ("timeout", "body")


@pytest.mark.case("target-7")
async def test_a_body_above_the_minimum_rate_may_take_its_time(target: RawTarget) -> None:
    async def steady(request: Request, writer: asyncio.StreamWriter) -> None:
        del request
        writer.write(NO_LENGTH)
        for _ in range(10):
            writer.write(b"x" * 100)
            await writer.drain()
            await asyncio.sleep(0.05)

    target.answers["/"] = steady
    _, body = await fetched(fetcher_with(min_rate_after_s=0.1, min_rate_bytes_s=200), target.url("/"))
    assert body == b"x" * 1000


@pytest.mark.case("target-8")
async def test_an_endless_body_is_stopped_at_the_cap_with_memory_flat(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = then(NO_LENGTH, drip=b"x" * 65_536)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = await failed(fetcher, target.url("/"), max_bytes=64 * 1024 * 1024)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    assert isinstance(outcome, Permanent)
    assert outcome.code == "body_too_large"
    assert grown_kib < 16 * 1024


@pytest.mark.case("target-9")
async def test_a_declared_length_above_the_cap_is_refused_before_the_body(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = then(head("HTTP/1.1 200 OK\nContent-Length: 10000000000000\n\n"), drip=b"x", every_s=0.05)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert (outcome.code, outcome.exchange.bytes_read) == ("body_too_large", 0)


@pytest.mark.case("target-12")
async def test_a_body_ended_by_the_connection_may_be_whole(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = NO_LENGTH + b"body"
    outcome, body = await fetched(fetcher, target.url("/"))
    assert (body, outcome.complete) == (b"body", "unknown")


@pytest.mark.case("target-13")
async def test_a_gzip_bomb_is_stopped_at_the_cap_on_decoded_bytes(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(gzip.compress(bytes(32 * 1024 * 1024)), headers=AS_GZIP)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert outcome.code == "body_too_large"


@pytest.mark.case("target-16")
@pytest.mark.parametrize(
    ("coding", "body"),
    [("gzip", GZIP), ("x-gzip", GZIP), ("gzip, gzip", gzip.compress(GZIP, mtime=0)), ("identity", HELLO)],
)
async def test_a_coded_body_is_stored_decoded(target: RawTarget, fetcher: Fetcher, coding: str, body: bytes) -> None:
    target.answers["/"] = response(body, headers=f"Content-Encoding: {coding}\r\n")
    outcome, decoded = await fetched(fetcher, target.url("/"))
    assert decoded == HELLO
    assert outcome.sha256 == hashlib.sha256(HELLO).hexdigest()
    assert outcome.exchange.bytes_read == len(body)


@pytest.mark.case("target-17")
@pytest.mark.case("target-19")
@pytest.mark.parametrize(("coding", "flag"), [("gzip", "encoding_mismatch"), ("br", "encoding:br")])
async def test_what_cannot_be_decoded_is_stored_as_it_came_and_told(
    target: RawTarget, fetcher: Fetcher, coding: str, flag: str
) -> None:
    target.answers["/"] = response(HELLO, headers=f"Content-Encoding: {coding}\r\n")
    outcome, body = await fetched(fetcher, target.url("/"))
    assert (body, outcome.flags) == (HELLO, (flag,))


@pytest.mark.case("target-20")
@pytest.mark.parametrize("headers", ["X: " + "a" * 9216 + "\r\n", "X: a\r\n" * 200])
async def test_long_headers_of_a_real_feed_pass(target: RawTarget, fetcher: Fetcher, headers: str) -> None:
    target.answers["/"] = response(b"x", headers=headers)
    await fetched(fetcher, target.url("/"))


@pytest.mark.case("target-21")
@pytest.mark.parametrize(
    "headers", ["X: " + "a" * 102_400 + "\r\n", "X: a\r\n" * 400, ("X: " + "a" * 8000 + "\r\n") * 120]
)
async def test_headers_above_the_limits_are_refused(target: RawTarget, fetcher: Fetcher, headers: str) -> None:
    target.answers["/"] = response(b"x", headers=headers)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert outcome.code == "headers_too_large"


@pytest.mark.case("target-22")
async def test_thousands_of_interim_answers_are_passed_over(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = head("HTTP/1.1 100 Continue\n\n") * 2000 + response(b"x")
    _, body = await fetched(fetcher, target.url("/"))
    assert body == b"x"


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        *(
            pytest.param(answer, "not_http", marks=pytest.mark.case("target-23"))
            for answer in (bytes(range(256)), b"SSH-2.0-OpenSSH_9.6\r\n", b"-ERR unknown command\r\n")
        ),
        *(
            pytest.param(head(answer), "protocol_error", marks=pytest.mark.case(case))
            for case, answer in (
                ("target-24", "HTTP/1.1 200 OK\nContent-Length: 3\nContent-Length: 4\n\nabcd"),
                ("target-24", "HTTP/1.1 200 OK\nContent-Length: 3\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n"),
                ("target-25", "HTTP/1.1 099 X\nContent-Length: 0\n\n"),
                ("target-25", "HTTP/1.1 999 X\nContent-Length: 0\n\n"),
                ("target-25", "HTTP/2.0 200 OK\nContent-Length: 0\n\n"),
                ("target-26", "HTTP/1.1 101 X\nUpgrade: x\nConnection: upgrade\n\n"),
                ("target-26", "HTTP/1.1 304 X\nContent-Length: 0\n\n"),
                ("target-26", "HTTP/1.1 206 X\nContent-Length: 0\n\n"),
                ("target-28", "HTTP/1.1 200 OK\nX: a\x00b\nContent-Length: 0\n\n"),
            )
        ),
    ],
)
async def test_what_is_not_http_fails_at_once_and_none_of_it_is_quoted(
    target: RawTarget, fetcher: Fetcher, answer: bytes, code: str
) -> None:
    target.answers["/"] = answer
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert outcome.code == code
    for quoted in ("SSH", "ERR", "4", "400"):
        assert quoted not in outcome.detail


@pytest.mark.case("target-29")
async def test_odd_header_bytes_become_text_that_postgres_takes(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = head("HTTP/1.1 200 OK\nX: caf\xe9\nY: a\x01b\nContent-Length: 0\n\n")
    outcome, _ = await fetched(fetcher, target.url("/"))
    assert outcome.headers[:2] == (("X", "caf\u00e9"), ("Y", "a\ufffdb"))
    assert "empty" in outcome.flags


@pytest.mark.case("target-30")
@pytest.mark.parametrize("body", [bytes(1000), b"\xff\xfe\x00\xd8" * 100, "\u00fc".encode("utf-16"), b""])
async def test_a_body_is_never_read_as_text(target: RawTarget, fetcher: Fetcher, body: bytes) -> None:
    target.answers["/"] = response(body, headers="Content-Type: text/plain; charset=utf-8\r\n")
    _, kept = await fetched(fetcher, target.url("/"))
    assert kept == body


def redirect(location: str, *, status: str = "302 Found", headers: str = "") -> bytes:
    return response(status=status, headers=f"Location: {location}\r\n{headers}")


@pytest.mark.case("target-33")
async def test_ten_redirects_are_followed_and_the_eleventh_is_not(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers |= {f"/{number}": redirect(f"/{number + 1}") for number in range(11)}
    target.answers["/11"] = response(b"x")
    outcome, _ = await fetched(fetcher, target.url("/1"))
    assert outcome.final_url == target.url("/11")
    assert [hop.status for hop in outcome.exchange.redirects] == [302] * 10
    assert outcome.exchange.wire_requests == 11
    refused = await failed(fetcher, target.url("/0"))
    assert isinstance(refused, Permanent)
    assert refused.code == "too_many_redirects"


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    ("location", "code"),
    [
        *(
            pytest.param(location, "blocked_address", marks=pytest.mark.case("target-34"))
            for location in (
                "http://169.254.169.254/latest/",
                "//10.0.0.1",
                "http://[::ffff:127.0.0.1]/",
                "http://localhost/",
                "http://inside.example/",
                "http://mixed.example/",
            )
        ),
        *(
            pytest.param(location, "blocked_scheme", marks=pytest.mark.case("target-35"))
            for location in ("file:///etc/passwd", "gopher://a.example/", "javascript:alert(1)")
        ),
        *(
            pytest.param(location, "redirect_invalid", marks=pytest.mark.case("target-40"))
            for location in ("", "http://", "http://user:pw@a.example/", "http://127.1/")
        ),
        ("http://a.example:6379/", "blocked_port"),
    ],
)
async def test_a_redirect_is_judged_like_a_new_url(
    target: RawTarget, fetcher: Fetcher, location: str, code: str
) -> None:
    target.answers["/"] = redirect(location)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert outcome.code == code
    assert target.n_connections == 1
    assert outcome.exchange.wire_requests == 1


@pytest.mark.case("target-34")
@pytest.mark.req("NFR-11")
async def test_loopback_is_blocked_without_the_operators_word(target: RawTarget) -> None:
    fetcher = Fetcher(FetchLimits(policy=EgressPolicy()), lookup=lookup)
    for url in (target.url("/"), target.url("/", host="a.example")):
        outcome = await failed(fetcher, url)
        assert isinstance(outcome, Permanent)
        assert outcome.code == "blocked_address"
    assert target.n_connections == 0


SECRETS = {"Authorization": "Bearer s", "Cookie": "a=1", "X-Api-Key": "k", "Accept": "text/plain"}


@pytest.mark.case("target-36")
@pytest.mark.req("NFR-12")
async def test_no_header_of_the_job_crosses_an_origin(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/start"] = redirect("/same")
    async with raw_target() as other:
        target.answers["/same"] = redirect(other.url("/other", host="a.example"))
        other.answers["/other"] = response(b"x")
        await fetched(fetcher, target.url("/start", host="a.example"), headers=SECRETS)
        start, same, crossed = *target.requests, *other.requests
    for request in (start, same):
        assert SECRETS.items() <= {name: request.headers[name.lower()] for name in SECRETS}.items()
    assert {"authorization", "cookie", "x-api-key"}.isdisjoint(crossed.headers)
    assert crossed.headers["accept"] == "*/*"


@pytest.mark.case("target-37")
async def test_a_location_goes_on_the_wire_as_it_came(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/A_&_B"] = redirect("/A_%26_B?sig=%2f+a%3D'b'&x=%27")
    target.answers["/A_%26_B"] = response(b"x")
    await fetched(fetcher, target.url("/A_&_B"))
    assert [request.path for request in target.requests] == ["/A_&_B", "/A_%26_B?sig=%2f+a%3D'b'&x=%27"]


@pytest.mark.case("target-38")
@pytest.mark.case("target-49")
@pytest.mark.parametrize("host", ["a.example", "127.0.0.1"])
async def test_cookies_are_kept_within_a_job_and_never_beyond_it(
    target: RawTarget, fetcher: Fetcher, host: str
) -> None:
    async def until_it_comes_back(request: Request, writer: asyncio.StreamWriter) -> None:
        has_come = request.headers.get("cookie") == "seen=1"
        writer.write(response(b"x") if has_come else redirect("/", headers="Set-Cookie: seen=1\r\n"))
        await writer.drain()

    target.answers["/"] = until_it_comes_back
    for _ in range(2):
        outcome, _ = await fetched(fetcher, target.url("/", host=host))
        assert outcome.exchange.wire_requests == 2
    assert [request.headers.get("cookie") for request in target.requests] == [None, "seen=1"] * 2


@pytest.mark.case("target-39")
@pytest.mark.parametrize(("status", "method", "body"), [("302 F", "GET", b""), ("307 T", "POST", b"payload")])
async def test_a_redirect_changes_or_repeats_a_post_as_its_status_says(
    target: RawTarget, fetcher: Fetcher, status: str, method: str, body: bytes
) -> None:
    target.answers["/from"] = redirect("/to?token=secret", status=status)
    target.answers["/to"] = redirect("/end", status=status)
    target.answers["/end"] = response(b"x")
    headers = {"Content-Type": "text/plain", "X-Api-Key": "k"}
    outcome, _ = await fetched(fetcher, target.url("/from"), method="POST", headers=headers, body=b"payload")
    last = target.requests[-1]
    assert (last.method, last.body) == (method, body)
    assert last.headers["x-api-key"] == "k"
    assert ("content-type" in last.headers) == bool(body)
    seen = [(hop.url, hop.status) for hop in outcome.exchange.redirects]
    assert seen == [(target.url("/from"), int(status[:3])), (target.url("/to?***"), int(status[:3]))]


@pytest.mark.case("target-40")
async def test_a_redirect_without_a_location_is_invalid(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(status="301 Moved")
    outcome = await failed(fetcher, target.url("/"))
    assert (outcome.code, outcome.exchange.target_status) == ("redirect_invalid", 301)


@pytest.mark.req("FR-1")
async def test_a_job_that_follows_no_redirects_gets_the_redirect_itself(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = redirect("http://169.254.169.254/")
    outcome, _ = await fetched(fetcher, target.url("/"), follow_redirects=False)
    assert (outcome.status, outcome.exchange.redirects) == (302, ())


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


@pytest.mark.case("target-43")
async def test_a_self_signed_certificate_is_invalid(fetcher: Fetcher, tmp_path: Path) -> None:
    async with tls_target(tmp_path) as port:
        outcome = await failed(fetcher, f"https://127.0.0.1:{port}/")
    assert isinstance(outcome, Permanent)
    assert (outcome.code, outcome.phase) == ("tls_invalid", "tls")
    assert outcome.exchange.wire_requests == 0


@pytest.mark.case("target-43")
async def test_a_certificate_is_good_for_its_own_host_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with tls_target(tmp_path) as port:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))  # an authority that this machine trusts
        fetcher = fetcher_with()
        outcome, body = await fetched(fetcher, f"https://127.0.0.1:{port}/")
        wrong_host = await failed(fetcher, f"https://a.example:{port}/")
    assert body == b"over TLS"
    assert list(outcome.exchange.timings) == ["connect", "tls", "headers", "body"]
    assert (wrong_host.code, wrong_host.phase) == ("tls_invalid", "tls")


@asynccontextmanager
async def tls_target(directory: Path) -> AsyncIterator[int]:
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(directory / "key.pem"), "-out", str(directory / "cert.pem")]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names, *files]
    await asyncio.to_thread(subprocess.run, make, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "cert.pem", directory / "key.pem")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(response(b"over TLS"))
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.case("target-44")
async def test_a_tls_handshake_that_hangs_is_a_timeout_of_its_phase() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts, nobody answers
        port = silent.getsockname()[1]
        outcome = await failed(fetcher_with(connect_timeout_s=0.3), f"https://127.0.0.1:{port}/")
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.phase) == ("timeout", "tls")


@pytest.mark.case("target-45")
@pytest.mark.req("NFR-6")
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("header", "seconds"), [("Retry-After: 5\r\n", 5.0), ("Retry-After: abc\r\n", None), ("", None)]
)
async def test_the_wait_that_a_target_asks_for_is_passed_on(
    target: RawTarget, fetcher: Fetcher, status: int, header: str, seconds: float | None
) -> None:
    target.answers["/"] = response(status=f"{status} X", headers=header)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.retry_after_s) == (f"http_{status}", seconds)


@pytest.mark.req("NFR-7")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *(pytest.param(n, Temporary, marks=pytest.mark.case("target-47")) for n in (408, 425, 500, 502, 503, 504)),
        *(pytest.param(n, Permanent, marks=pytest.mark.case("target-48")) for n in (400, 401, 403, 404, 405, 410, 451)),
    ],
)
async def test_an_error_status_is_classed_and_kept(
    target: RawTarget, fetcher: Fetcher, status: int, kind: type
) -> None:
    target.answers["/"] = response(b"why", status=f"{status} X")
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, kind)
    assert (outcome.code, outcome.exchange.target_status) == (f"http_{status}", status)


@pytest.mark.case("target-48")
async def test_a_job_may_accept_a_status(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(b"not here", status="404 X")
    outcome, body = await fetched(fetcher, target.url("/"), accept_statuses=frozenset({404}))
    assert (outcome.status, body) == (404, b"not here")


@pytest.mark.req("FR-1")
@pytest.mark.parametrize(
    ("expect", "is_met"),
    [
        (Expectation(content_type="Application/JSON", min_bytes=8, json=True), True),
        (Expectation(content_type="text/html"), False),
        (Expectation(min_bytes=9), False),
    ],
)
async def test_an_answer_is_held_to_what_the_job_expects(
    target: RawTarget, fetcher: Fetcher, expect: Expectation, is_met: bool
) -> None:
    target.answers["/"] = response(b'{"a": 1}', headers="Content-Type: application/json; charset=utf-8\r\n")
    outcome = await fetcher.fetch(FetchRequest(target.url("/"), expect=expect))
    if isinstance(outcome, Fetched):
        assert is_met
        assert outcome.body.read() == b'{"a": 1}'
        outcome.body.close()
    else:
        assert not is_met
        assert outcome.code == "unexpected_content"


@pytest.mark.req("FR-1")
@pytest.mark.parametrize("body", [b'{"a": ', b"<html>", b"", b"\xff", b"[" * 100_000])
async def test_a_job_that_expects_json_takes_nothing_else(target: RawTarget, fetcher: Fetcher, body: bytes) -> None:
    target.answers["/"] = response(body)
    outcome = await failed(fetcher, target.url("/"), expect=Expectation(json=True))
    assert outcome.code == "unexpected_content"


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
