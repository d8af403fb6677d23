"""A TCP way to a server on which things can go wrong: what, is in `troubles.py`.

It runs on a thread and an event loop of its own, so that no test holds up a line, and no line a test.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, urlsplit

from scrapejobs.adapters.embedded import free_port
from tests.chaos.framing import Piece, Requests
from tests.chaos.troubles import Cut, Trouble

T = TypeVar("T")

CHUNK_BYTES: Final = 64 * 1024
ANSWER_S: Final = 10.0
RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER of no time: what is closed is reset, as by a crash

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(eq=False)
class Line:
    """One client's connection and the one made for it. `is_spoilt`: it lost bytes and cannot go on."""

    near: Ends
    far: Ends
    counts: Counter[str]
    requests: Requests = field(default_factory=Requests)
    is_spoilt: bool = False

    def cut(self) -> None:
        """Resets both connections at once."""
        for _, writer in (self.near, self.far):
            _reset(writer)

    def answer(self, data: bytes) -> None:
        """Says something to the client in the server's place."""
        self.near[1].write(data)


class Proxy:
    """`url` leads through it. One trouble at a time; `counts` says what each kind did."""

    def __init__(self, url: str) -> None:
        self._there = urlsplit(url)
        self._port = free_port()
        self.url = _moved(self._there, self._port)
        self.counts: Counter[str] = Counter()
        self._trouble = Trouble()
        self._server: asyncio.Server | None = None
        self._lines: set[Line] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy-{self._port}", daemon=True)
        self._thread.start()
        self._call(self._listen())

    # ---- from any thread

    def bring(self, trouble: Trouble) -> None:
        """From now on, for every line, also those that are up."""
        self._call(self._bring(trouble))

    def heal(self) -> None:
        """No trouble any more. Lines that lost bytes are cut."""
        self.bring(Trouble())

    def cut(self) -> None:
        """Resets every line that is up; new ones are let in."""
        self._call(self._cut(list(self._lines)))

    def close(self) -> None:
        """Ends the thread and every line."""
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_S)
        self._loop.close()

    def _call(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(ANSWER_S)

    # ---- in the loop

    async def _bring(self, trouble: Trouble) -> None:
        before, self._trouble = self._trouble, trouble
        before.end()
        await self._cut([line for line in self._lines if line.is_spoilt or not trouble.lets_in])
        if trouble.lets_in:
            await self._listen()
        elif self._server is not None:
            self._server.close()
            self._server = None

    async def _cut(self, lines: list[Line]) -> None:
        for line in lines:
            line.cut()
            self.counts["cut"] += 1

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, backlog=512)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            far = await asyncio.open_connection(self._there.hostname, self._there.port)
        except OSError:
            _reset(writer)  # the server itself is down
            return
        line = Line((reader, writer), far, self.counts)
        self._lines.add(line)
        try:
            await self._carry(line)
        finally:
            self._lines.discard(line)
            writer.close()
            far[1].close()

    async def _carry(self, line: Line) -> None:
        """Carries bytes both ways until one side ends."""
        ways = [asyncio.create_task(self._onward(line)), asyncio.create_task(self._back(line))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            ends = await asyncio.gather(*ways, return_exceptions=True)
        if any(isinstance(end, Cut) for end in ends):
            await self._cut([line])
        elif any(isinstance(end, ConnectionError) for end in ends):
            line.cut()

    async def _onward(self, line: Line) -> None:
        reader, writer = line.near[0], line.far[1]
        while data := await reader.read(CHUNK_BYTES):
            for piece in self._pieces(line, data):
                writer.write(await self._trouble.onward(line, piece))
            await writer.drain()

    def _pieces(self, line: Line, data: bytes) -> Iterator[Piece]:
        """For HTTP each head and each part of a body apart; else the bytes as they came."""
        return line.requests.feed(data) if self._there.scheme == "http" else iter([Piece(data)])

    async def _back(self, line: Line) -> None:
        reader, writer = line.far[0], line.near[1]
        while data := await reader.read(CHUNK_BYTES):
            writer.write(await self._trouble.back(line, data))
            await writer.drain()

    async def _close(self) -> None:
        await self._bring(Trouble())
        if self._server is not None:
            self._server.close()
        await self._cut(list(self._lines))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=ANSWER_S / 2)
        await asyncio.sleep(0.01)  # the transports close


@contextlib.contextmanager
def proxy_to(url: str) -> Iterator[Proxy]:
    """A proxy to the server of that URL, until the block ends."""
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    end = writer.get_extra_info("socket")
    if end is not None and not writer.transport.is_closing():
        with contextlib.suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


def _moved(there: SplitResult, port: int) -> str:
    who, at, _ = there.netloc.rpartition("@")
    return there._replace(netloc=f"{who}{at}127.0.0.1:{port}").geturl()
