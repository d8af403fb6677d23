"""A target that sends exact bytes: a web framework refuses to send most of what a hostile host sends.

Each path is a behaviour; the server notes every request before it answers.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class RawTarget:
    """The running server: what each path does, what was asked for, how many connections came."""

    port: int = 0
    answers: dict[str, "Answer"] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    n_connections: int = 0

    def url(self, path: str, *, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


Answer = bytes | Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


def response(body: bytes = b"", *, status: str = "200 OK", headers: str = "") -> bytes:
    """A well-formed answer with its length."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode("latin-1") + body


def reset(writer: asyncio.StreamWriter) -> None:
    """Cut the connection with an RST."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextlib.asynccontextmanager
async def raw_target(address: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawTarget]:
    target = RawTarget()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        target.n_connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            request = await _read(reader)
            target.requests.append(request)
            answer = target.answers[request.path.partition("?")[0]]
            if callable(answer):
                await answer(request, writer)
            else:
                writer.write(answer)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, address, 0, ssl=tls, backlog=512)
    target.port = server.sockets[0].getsockname()[1]
    try:
        yield target
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body)
