"""The hostile targets as a running server, and how a job on each must end: one row for each behaviour of the table.

Each row has a host of its own, so that no limit of a host decides what becomes of another row.
"""

import asyncio
import gzip
import socket
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import brotli

from tests.integration.fetching import hang, head, then
from tests.integration.raw_target import Answer, RawTarget, Request, raw_target, reset, response

MIB = 1024 * 1024
TEXT = b"hello, world. " * 1000
GZIP = gzip.compress(TEXT, mtime=0)
AS_GZIP = "Content-Encoding: gzip\r\n"
AS_BR = "Content-Encoding: br\r\n"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
NO_LENGTH = head("HTTP/1.1 200 OK\n\n")
BRIEF = {"timeout_s": 3.0}
"""For rows that keep their slot until their time-out."""


@dataclass(frozen=True)
class Row:
    """`code` None: the job succeeds, with `body` for its result. `door`: which of the server's ports it knocks at.
    `n_requests`: what the target sees.
    """

    name: str
    answer: Answer
    code: str | None = None
    phase: str | None = None
    body: bytes | None = None
    flags: frozenset[str] = frozenset()
    params: dict[str, Any] = field(default_factory=dict)
    door: str = "open"
    n_requests: int = 1

    @property
    def case(self) -> str:
        return "target-" + self.name.partition("-")[0]


def failing(name: str, answer: Answer, code: str, **more: Any) -> Row:
    return Row(name, answer, code, **more)


def passing(name: str, answer: Answer, body: bytes, **more: Any) -> Row:
    return Row(name, answer, body=body, **more)


def _redirects(to: str, status: str = "302 Found") -> bytes:
    return response(status=status, headers=f"Location: {to}\r\n")


async def _redirect_elsewhere(request: Request, writer: asyncio.StreamWriter) -> None:
    port = request.headers["host"].rpartition(":")[2]
    writer.write(_redirects(f"http://127.2.0.1:{port}/elsewhere"))
    await writer.drain()


def _bomb(pack: Callable[[bytes], bytes]) -> bytes:
    return pack(bytes(64 * MIB))


async def _until_its_cookie_comes_back(request: Request, writer: asyncio.StreamWriter) -> None:
    has_come = request.headers.get("cookie") == "seen=1"
    again = response(status="302 F", headers="Location: ?\r\nSet-Cookie: seen=1\r\n")
    writer.write(response(b"x") if has_come else again)
    await writer.drain()


async def _without_secrets(request: Request, writer: asyncio.StreamWriter) -> None:
    leaked = {"authorization", "cookie", "x-api-key"} & set(request.headers)
    writer.write(response(b"leaked" if leaked else b"none"))
    await writer.drain()


_drip = partial(then, every_s=0.05)
_SECRETS = {"headers": {"Authorization": "Bearer s", "Cookie": "a=1", "X-Api-Key": "k"}}

ROWS: tuple[Row, ...] = (
    failing("1", hang, "timeout", phase="headers", params=BRIEF),
    failing("2", b"", "timeout", phase="connect", n_requests=0, door="full", params=BRIEF),
    failing("3", b"", "connection_refused", n_requests=0, door="closed"),
    failing("4", then(head("HTTP/1.1 200 OK\nContent-Length: 100\n\n") + b"x", reset_it=True), "connection_reset"),
    failing("5", b"", "disconnected"),
    failing("6", _drip(head("HTTP/1.1 200 OK\nX: "), drip=b"x"), "timeout", phase="headers", params=BRIEF),
    failing("7", _drip(NO_LENGTH, drip=b"x"), "too_slow"),
    failing("8", then(NO_LENGTH, drip=b"x" * 65_536), "body_too_large"),
    failing("9", head("HTTP/1.1 200 OK\nContent-Length: 10000000000000\n\n"), "body_too_large"),
    failing("10", head("HTTP/1.1 200 OK\nContent-Length: 100\n\nxyz"), "body_incomplete"),
    failing("11", head("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabc\n"), "body_incomplete"),
    passing("12", NO_LENGTH + b"body", b"body"),
    failing("13-gzip", response(_bomb(gzip.compress), headers=AS_GZIP), "body_too_large"),
    failing("13-br", response(_bomb(partial(brotli.compress, quality=5)), headers=AS_BR), "body_too_large"),
    failing("14-gzip", response(GZIP[:-20], headers=AS_GZIP), "body_incomplete"),
    failing("14-trailer", response(GZIP[:-8], headers=AS_GZIP), "body_incomplete"),
    failing("14-br", response(brotli.compress(TEXT)[:-3], headers=AS_BR), "body_incomplete"),
    failing("15", response(GZIP[:-5] + bytes([GZIP[-5] ^ 1]) + GZIP[-4:], headers=AS_GZIP), "body_corrupt"),
    passing("16", response(gzip.compress(GZIP), headers="Content-Encoding: gzip, gzip\r\n"), TEXT),
    passing("17", response(TEXT, headers=AS_GZIP), TEXT, flags=frozenset({"encoding_mismatch"})),
    passing("18-junk", response(GZIP + b"junk", headers=AS_GZIP), TEXT),
    passing("18-members", response(GZIP + GZIP, headers=AS_GZIP), TEXT + TEXT),
    passing("18-empty", response(b"", headers=AS_GZIP), b"", flags=frozenset({"empty"})),
    passing("19", response(TEXT, headers="Content-Encoding: rot13\r\n"), TEXT, flags=frozenset({"encoding:unknown"})),
    passing("20-long", response(b"x", headers="X: " + "a" * 9216 + "\r\n"), b"x"),
    passing("20-many", response(b"x", headers="X: a\r\n" * 200), b"x"),
    failing("21-long", response(b"x", headers="X: " + "a" * 102_400 + "\r\n"), "headers_too_large"),
    failing("21-many", response(b"x", headers="X: a\r\n" * 400), "headers_too_large"),
    failing("21-sum", response(b"x", headers=("X: " + "a" * 8000 + "\r\n") * 120), "headers_too_large"),
    passing("22", head("HTTP/1.1 100 Continue\n\n") * 2000 + response(b"x"), b"x"),
    failing("23-random", bytes(range(255, 0, -1)), "not_http"),
    failing("23-ssh", b"SSH-2.0-OpenSSH_9.6\r\n", "not_http"),
    failing("23-redis", b"-ERR unknown command\r\n", "not_http"),
    failing("24-two", head("HTTP/1.1 200 OK\nContent-Length: 3\nContent-Length: 4\n\nabcd"), "protocol_error"),
    failing(
        "24-chunked",
        head("HTTP/1.1 200 OK\nContent-Length: 3\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n"),
        "protocol_error",
    ),
    passing("24-equal", head("HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 1\n\nx"), b"x"),
    failing("25-099", response(status="099 X"), "protocol_error"),
    failing("25-999", response(status="999 X"), "protocol_error"),
    failing("25-http2", head("HTTP/2.0 200 OK\nContent-Length: 0\n\n"), "protocol_error"),
    failing("26-101", head("HTTP/1.1 101 X\nUpgrade: x\nConnection: upgrade\n\n"), "protocol_error"),
    failing("26-304", response(status="304 X"), "protocol_error"),
    failing("26-206", response(status="206 X"), "protocol_error"),
    passing(
        "27", head("HTTP/1.1 204 No\nContent-Length: 5\n\nhello") + response(b"forged"), b"", flags=frozenset({"empty"})
    ),
    failing("28", head("HTTP/1.1 200 OK\nX: a\x00b\nContent-Length: 0\n\n"), "protocol_error"),
    passing("29", head("HTTP/1.1 200 OK\nX: caf\xe9\nY: a\x01b\nContent-Length: 1\n\nx"), b"x"),
    passing("30-nul", response(bytes(1000)), bytes(1000)),
    passing("30-utf8", response(b"\xff\xfe\x00\xd8"), b"\xff\xfe\x00\xd8"),
    passing("30-utf16", response("ü".encode("utf-16")), "ü".encode("utf-16")),
    passing("30-empty", response(b""), b"", flags=frozenset({"empty"})),
    passing("31-klingon", response(b"x", headers="Content-Type: text/html; charset=klingon\r\n"), b"x"),
    passing("31-cp1252", response(b"\x93x\x94", headers="Content-Type: text/html; charset=utf-8\r\n"), b"\x93x\x94"),
    passing("32", response(SVG, headers="Content-Type: image/svg+xml\r\n"), SVG),
    failing("33", _redirects("?"), "too_many_redirects", n_requests=11),
    failing("34-metadata", _redirects("http://169.254.169.254/latest/"), "blocked_address"),
    failing("34-private", _redirects("//10.0.0.1"), "blocked_address"),
    failing("34-mapped", _redirects("http://[::ffff:10.0.0.1]/"), "blocked_address"),
    failing("35-file", _redirects("file:///etc/passwd"), "blocked_scheme"),
    failing("35-javascript", _redirects("javascript:alert(1)"), "blocked_scheme"),
    passing("36", _redirect_elsewhere, b"none", params=_SECRETS),
    passing("38", _until_its_cookie_comes_back, b"x", n_requests=2),
    failing("40-none", response(status="301 X"), "redirect_invalid"),
    failing("40-empty", _redirects(""), "redirect_invalid"),
    failing("43", response(b"x"), "tls_invalid", n_requests=0, door="tls"),
    failing("44", b"", "timeout", phase="tls", n_requests=0, door="silent", params=BRIEF),
    *(failing(f"45-{n}", response(status=f"{n} X", headers="Retry-After: abc\r\n"), f"http_{n}") for n in (429, 503)),
    *(failing(f"47-{n}", response(status=f"{n} X"), f"http_{n}") for n in (408, 425, 500, 502, 504)),
    *(failing(f"48-{n}", response(b"why", status=f"{n} X"), f"http_{n}") for n in (400, 401, 403, 404, 405, 410, 451)),
    passing("48-accepted", response(b"not here", status="404 X"), b"not here", params={"accept_statuses": [404]}),
)


class Moody:
    """Targets that answer differently from time to time: rows 50 to 52."""

    def __init__(self) -> None:
        self._n_here = 0
        self._n_asked = 0
        self._has_been_late = False

    async def one_at_a_time(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Resets every connection beside the one that it serves."""
        del request
        if self._n_here:
            reset(writer)
            return
        self._n_here += 1
        await asyncio.sleep(0.05)
        self._n_here -= 1
        writer.write(response(b"x"))
        await writer.drain()

    async def every_other(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answers one request and resets the next."""
        del request
        self._n_asked += 1
        if self._n_asked % 2:
            writer.write(response(b"x"))
            await writer.drain()
        else:
            reset(writer)

    async def late(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answers its first request when nobody waits any more."""
        del request
        if not self._has_been_late:
            self._has_been_late = True
            await asyncio.sleep(1.5 * BRIEF["timeout_s"])
        writer.write(response(b"x"))
        await writer.drain()


class Hostile:
    """The server: every row at its path, on every address of loopback."""

    def __init__(self, target: RawTarget, ports: dict[str, int]) -> None:
        self._target = target
        moody = Moody()
        target.answers |= {"/50": moody.one_at_a_time, "/51": moody.every_other, "/52": moody.late}
        self._ports = {**ports, "open": target.port}
        target.answers |= {f"/{row.name}": row.answer for row in ROWS}
        target.answers |= {"/elsewhere": _without_secrets, "/healthy": response(TEXT)}

    def url_of(self, row: Row) -> str:
        scheme = "https" if row.door in {"tls", "silent"} else "http"
        return f"{scheme}://127.1.0.{1 + ROWS.index(row)}:{self._ports[row.door]}/{row.name}"

    def healthy_url(self, n: int) -> str:
        return f"http://127.3.0.{n}:{self._ports['open']}/healthy"

    def moody_url(self, name: str) -> str:
        return f"http://127.4.0.{name}:{self._ports['open']}/{name}"

    def n_requests(self, name: str) -> int:
        return sum(request.path.partition("?")[0] == f"/{name}" for request in self._target.requests)


@contextmanager
def hostile(directory: Path) -> Iterator[Hostile]:
    """The server in a thread of its own; its certificate, which nobody signed, goes into `directory`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def call(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(30)

    with ExitStack() as stack:
        stack.callback(loop.close)
        stack.callback(thread.join, 10)
        stack.callback(loop.call_soon_threadsafe, loop.stop)
        doors = {name: socket.create_server(("0.0.0.0", 0), backlog=0) for name in ("full", "silent")}
        for door in doors.values():
            stack.enter_context(door)
        ports = {name: door.getsockname()[1] for name, door in doors.items()}
        for _ in range(3):  # fills the queue of connections: a further SYN gets no answer
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", ports["full"]))
        with socket.create_server(("0.0.0.0", 0)) as closed:
            ports["closed"] = closed.getsockname()[1]
        site = _site(directory)
        target, ports["tls"] = call(site.__aenter__())
        stack.callback(lambda: call(site.__aexit__(None, None, None)))
        yield Hostile(target, ports)


@asynccontextmanager
async def _site(directory: Path) -> AsyncIterator[tuple[RawTarget, int]]:
    files = ["-keyout", str(directory / "key.pem"), "-out", str(directory / "cert.pem")]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=nobody", *files]
    await asyncio.to_thread(subprocess.run, make, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "cert.pem", directory / "key.pem")
    async with raw_target("0.0.0.0") as target, raw_target("0.0.0.0", tls=context) as secure:
        yield target, secure.port
