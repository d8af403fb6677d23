"""A TCP way to a server that can be shut, or swallow one answer: how a network fails."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit


@dataclass
class Door:
    """`url` leads through it. `is_stalled`: answers are held, as by a server that was stopped. `is_clogged`: what is
    sent is held, as by a network, and counted in `n_clogged`. `swallow`: told what was sent last, whether the answer to
    it is lost and the line cut.
    """

    url: str = ""
    is_open: bool = True
    is_stalled: bool = False
    is_clogged: bool = False
    n_clogged: int = 0
    refused: int = 0
    swallow: Callable[[bytes], bool] | None = None
    swallowed: int = 0
    lines: set[asyncio.WriteTransport] = field(default_factory=set)

    def shut(self) -> None:
        """Cuts every line and lets none in."""
        self.is_open = False
        for line in list(self.lines):
            line.abort()


@contextlib.asynccontextmanager
async def door_to(url: str) -> AsyncIterator[Door]:
    there, door = urlsplit(url), Door()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        if not door.is_open:
            door.refused += 1
            writer.transport.abort()
            return
        assert there.hostname is not None
        answers, onward = await asyncio.open_connection(there.hostname, there.port)
        ends = {writer.transport, onward.transport}
        door.lines |= ends
        try:
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await _carry(door, (reader, writer), (answers, onward))
        finally:
            for end in ends:
                end.abort()
            door.lines -= ends

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    door.url = _moved(there, server.sockets[0].getsockname()[1])
    try:
        yield door
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # the aborted transports close


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _carry(door: Door, near: Ends, far: Ends) -> None:
    """Carries bytes both ways until one side ends."""
    last = b""

    async def there() -> None:
        nonlocal last
        while data := await near[0].read(1 << 20):
            last = data
            door.n_clogged += door.is_clogged
            while door.is_clogged:  # noqa: ASYNC110 - a test's switch
                await asyncio.sleep(0.01)
            far[1].write(data)

    async def back() -> None:
        while data := await far[0].read(1 << 20):
            if door.swallow is not None and door.swallow(last):
                door.swallow = None
                door.swallowed += 1
                return
            while door.is_stalled:  # noqa: ASYNC110 - a test's switch
                await asyncio.sleep(0.01)
            near[1].write(data)

    ways = [asyncio.create_task(there()), asyncio.create_task(back())]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


def _moved(there: SplitResult, port: int) -> str:
    who, at, _ = there.netloc.rpartition("@")
    return there._replace(netloc=f"{who}{at}127.0.0.1:{port}").geturl()
