"""Receive a body: undo its codings as it comes, hold it to the cap and to the minimum rate."""

import asyncio
from types import TracebackType
from typing import Final, Protocol

import aiohttp

from scrapejobs.adapters.decoding import ContentDecoder
from scrapejobs.adapters.fetch_errors import FetchFailed
from scrapejobs.adapters.guard import Dial
from scrapejobs.adapters.spool import Spool, TooLarge

_SLACK_BYTES: Final = 1024 * 1024  # what a coding may add to a body that it does not make smaller
_PIECES_BEFORE_OTHERS: Final = 16  # decoded pieces until other jobs of this event loop get a turn


class RateLimits(Protocol):
    """The slowest that a body may come: bytes a second, on the wire, once some seconds have passed. 0 is no limit."""

    @property
    def min_rate_bytes_s(self) -> float: ...
    @property
    def min_rate_after_s(self) -> float: ...


async def receive(
    response: aiohttp.ClientResponse, *, spool: Spool, dial: Dial, limits: RateLimits, max_bytes: int, cut: bool = False
) -> ContentDecoder:
    """Stream the decoded body into the spool and return the decoder that saw its end.

    With `cut` what is below the cap is enough, and the rest is not read.
    Raises `TooLarge` (by the declared length, before anything is read, or one piece past the cap),
    `BodyTruncated`, `BodyCorrupt`, or `FetchFailed` for a body that comes too slowly or not whole.
    """
    dial.enter("body")
    length = response.content_length if response.method != "HEAD" else None
    if length is not None and length > max_bytes and not cut:
        raise TooLarge
    decoder = ContentDecoder(", ".join(response.headers.getall("Content-Encoding", ())), max_bytes=max_bytes)
    try:
        async with _Pace(dial, limits):
            async for data in response.content.iter_any():
                dial.bytes_read += len(data)
                _check_wire(dial.bytes_read, max_bytes=max_bytes)
                await _decode(decoder, data, spool=spool)
    except TooLarge:
        if not cut:
            raise
        return decoder
    except TimeoutError:
        raise FetchFailed("too_slow") from None
    except aiohttp.ClientPayloadError:
        got = dial.bytes_read = response.content.total_bytes
        detail = "" if length is None else f"got {got} of {length} bytes"
        raise FetchFailed("body_incomplete", detail=detail) from None
    for piece in decoder.end():
        await spool.write(piece)
    return decoder


class _Pace:
    """Raises `TimeoutError` in its block as soon as less has come than the minimum rate asks for. It looks only when
    that could be, so that a body that comes fast costs one timer.
    """

    def __init__(self, dial: Dial, limits: RateLimits) -> None:
        self._dial = dial
        self._rate = limits.min_rate_bytes_s
        self._loop = asyncio.get_running_loop()
        self._began_at, self._already = self._loop.time(), dial.bytes_read
        self._timer: asyncio.TimerHandle | None = None
        self._timeout = asyncio.timeout_at(None)
        if self._rate:
            self._timer = self._loop.call_at(self._began_at + limits.min_rate_after_s, self._look)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _look(self) -> None:
        slow_at = self._began_at + (self._dial.bytes_read - self._already) / self._rate
        if slow_at <= self._loop.time():
            self._timeout.reschedule(self._loop.time())
        else:
            self._timer = self._loop.call_at(slow_at, self._look)


def _check_wire(n: int, *, max_bytes: int) -> None:
    if n > max_bytes + _SLACK_BYTES:
        raise TooLarge


async def _decode(decoder: ContentDecoder, data: bytes, *, spool: Spool) -> None:
    for number, piece in enumerate(decoder.feed(data), start=1):
        await spool.write(piece)
        if number % _PIECES_BEFORE_OTHERS == 0:
            await asyncio.sleep(0)
