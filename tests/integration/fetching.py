"""What the tests of the fetcher share: names that resolve to loopback, answers as bytes, and one fetch."""

import asyncio
import gzip
from ipaddress import ip_address, ip_network
from typing import Any

from scrapejobs.adapters.fetcher import Fetched, Fetcher, FetchLimits, FetchRequest
from scrapejobs.adapters.guard import LookupFailed, NameNotFound
from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.outcome import Permanent, Temporary
from tests.integration.raw_target import Request, reset, response

LOOPBACK = EgressPolicy(allow=(ip_network("127.0.0.0/8"),))
NAMES = {"a.example": ["127.0.0.1"], "b.example": ["127.0.0.2"], "inside.example": ["10.0.0.1"]}
NAMES |= {"mixed.example": ["127.0.0.1", "10.0.0.1"]}
BODY = b"0123456789abcdef" * 4096
HELLO = b"hello, world. " * 100
GZIP = gzip.compress(HELLO, mtime=0)  # no time in the names of tests: xdist compares them
AS_GZIP = "Content-Encoding: gzip\r\n"


def head(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode("latin-1")


LENGTH_100 = head("HTTP/1.1 200 OK\nContent-Length: 100\n\n")
NO_LENGTH = head("HTTP/1.1 200 OK\n\n")
CHUNKED = head("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n")


async def lookup(host: str) -> list[Any]:
    if host == "gone.example":
        raise NameNotFound
    if host == "failing.example":
        raise LookupFailed
    return [ip_address(address) for address in NAMES[host]]


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


def redirect(location: str, *, status: str = "302 Found", headers: str = "") -> bytes:
    return response(status=status, headers=f"Location: {location}\r\n{headers}")
