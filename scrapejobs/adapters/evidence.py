"""Look at the first bytes of an answer that is refused."""

import asyncio
from contextlib import suppress
from typing import Final

import aiohttp

from scrapejobs.adapters.decoding import BodyCorrupt, BodyTruncated, ContentDecoder
from scrapejobs.adapters.fetch_errors import WIRE_ERRORS
from scrapejobs.adapters.spool import TooLarge
from scrapejobs.domain.evidence import READ_BYTES

LOOK_S: Final = 1.0
_MARGIN_S: Final = 0.2


async def first_bytes(response: aiohttp.ClientResponse, *, remaining_s: float) -> bytes:
    """Up to 4 KiB of the body, decoded if that can be done: what comes within a second, and well before the attempt's
    time-out in `remaining_s`, whose end must not change.
    """
    seen: list[bytes] = []
    with suppress(*WIRE_ERRORS):
        async with asyncio.timeout(min(LOOK_S, remaining_s - _MARGIN_S)):
            async for data in response.content.iter_any():
                seen.append(data)
                if sum(map(len, seen)) >= READ_BYTES:
                    break
    data = b"".join(seen)
    decoder = ContentDecoder(", ".join(response.headers.getall("Content-Encoding", ())), max_bytes=READ_BYTES)
    decoded: list[bytes] = []
    with suppress(BodyCorrupt, BodyTruncated, TooLarge):
        decoded.extend(decoder.feed(data))
        decoded.extend(decoder.end())
    return b"".join(decoded)[:READ_BYTES] or data[:READ_BYTES]
