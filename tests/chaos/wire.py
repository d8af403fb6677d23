"""As much of HTTP/1.1 as a hostile server needs, to the byte: one request on a connection, then its end."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

MOST_HEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Gone(Exception):  # noqa: N818 - says what happened
    """The client closed the connection."""


async def read_request(reader: asyncio.StreamReader) -> Request:
    """One whole request; header names in lower case. Raises `Gone` when the client leaves before its end."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *fields = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields if f)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError) as error:
        raise Gone from error
    method, path, _ = first.split(" ")
    return Request(method, path, headers, body)


def head(status: int, length: int, **headers: str) -> bytes:
    """The head of an answer that ends its connection."""
    fields = {"Content-Length": str(length), "Connection": "close", **headers}
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        *(f"{k.replace('_', '-')}: {v}" for k, v in fields.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


async def stays(reader: asyncio.StreamReader, event: asyncio.Event, *, at_most_s: float | None = None) -> None:
    """Waits for the event, or for `at_most_s`, while the client stays. Raises `Gone` when it does not."""
    leaving = asyncio.ensure_future(reader.read(1))
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({leaving, waiting}, timeout=at_most_s, return_when=asyncio.FIRST_COMPLETED)
        if leaving.done() and (leaving.exception() or not leaving.result()):
            raise Gone
    finally:
        for one in (leaving, waiting):
            one.cancel()
        await asyncio.gather(leaving, waiting, return_exceptions=True)
