"""What can go wrong on the way to a server. Each trouble says what becomes of bytes onward and back."""

import asyncio
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.chaos.framing import Piece
    from tests.chaos.proxy import Line

SLOW_DOWN: Final = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
UNAVAILABLE: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/xml\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n" % len(SLOW_DOWN)
)
ETAG: Final = re.compile(rb'(?i)(\r\netag: ")[0-9a-f]{32}"')


class Cut(Exception):  # noqa: N818 - says what happens
    """The line is to be reset here and now."""


class Trouble:
    """This one is none: bytes go as they come. `lets_in`: whether anybody listens."""

    lets_in = True

    async def onward(self, line: "Line", piece: "Piece") -> bytes:
        """What the server gets of what the client sent."""
        return piece.data

    async def back(self, line: "Line", data: bytes) -> bytes:
        """What the client gets of what the server answered."""
        return data

    def end(self) -> None:
        """It is over."""


class Refuse(Trouble):
    """Every line is reset, and nobody listens: connection refused."""

    lets_in = False


class Swallow(Trouble):
    """A black hole: lines are taken, and what is sent is gone."""

    async def onward(self, line: "Line", piece: "Piece") -> bytes:
        line.counts["swallowed"] += 1
        line.is_spoilt = True
        return b""

    async def back(self, line: "Line", data: bytes) -> bytes:
        line.is_spoilt = True
        return b""


class Hold(Trouble):
    """A partition: nothing goes through until it is over, and then all that was sent, however late."""

    def __init__(self) -> None:
        self._over = asyncio.Event()

    async def onward(self, line: "Line", piece: "Piece") -> bytes:
        line.counts["held"] += 1
        await self._over.wait()
        return piece.data

    async def back(self, line: "Line", data: bytes) -> bytes:
        line.counts["held"] += 1
        await self._over.wait()
        return data

    def end(self) -> None:
        self._over.set()


class Delay(Trouble):
    """What the server answers takes `seconds` longer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def back(self, line: "Line", data: bytes) -> bytes:
        line.counts["delayed"] += 1
        await asyncio.sleep(self._seconds)
        return data


class LoseAnswer(Trouble):
    """Of the next `times` lines that ask something with `word` in it, the server gets it and its answer is lost."""

    def __init__(self, word: bytes = b"", *, times: int = 1_000_000) -> None:
        self._word = word
        self._left = times
        self._asked: set[Line] = set()

    async def onward(self, line: "Line", piece: "Piece") -> bytes:
        if self._left and self._word in piece.data:
            self._left -= 1
            self._asked.add(line)
        return piece.data

    async def back(self, line: "Line", data: bytes) -> bytes:
        if line not in self._asked:
            return data
        self._asked.discard(line)
        line.counts["lost"] += 1
        raise Cut


class Unavailable(Trouble):
    """An object store that is up and answers 503 to everything."""

    async def onward(self, line: "Line", piece: "Piece") -> bytes:
        line.is_spoilt = True
        if piece.is_last:
            line.counts["unavailable"] += 1
            line.answer(UNAVAILABLE if piece.method == "HEAD" else UNAVAILABLE + SLOW_DOWN)
        return b""


class CutPut(Trouble):
    """The line is reset when `after_bytes` of the body of a PUT have come through."""

    def __init__(self, after_bytes: int) -> None:
        self._after_bytes = after_bytes

    async def onward(self, line: "Line", piece: "Piece") -> bytes:
        if piece.method != "PUT" or piece.offset is None:
            return piece.data
        left = self._after_bytes - piece.offset
        if left >= len(piece.data):
            return piece.data
        line.far[1].write(piece.data[:left])
        await line.far[1].drain()
        line.counts["cut in a PUT"] += 1
        raise Cut


class WrongETag(Trouble):
    """The ETag in each answer is of other bytes."""

    async def back(self, line: "Line", data: bytes) -> bytes:
        wrong, n = ETAG.subn(rb"\g<1>" + b"0" * 32 + b'"', data)
        line.counts["wrong ETags"] += n
        return wrong


class Corrupt(Trouble):
    """The first byte of the body of a PUT is another one when it arrives."""

    async def onward(self, line: "Line", piece: "Piece") -> bytes:
        if piece.method != "PUT" or piece.offset != 0:
            return piece.data
        line.counts["corrupted"] += 1
        return bytes([piece.data[0] ^ 1]) + piece.data[1:]
