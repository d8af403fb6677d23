"""A hostile target site as a process: `python -m tests.chaos.target --log FILE`.

Many addresses of loopback, a host each, on one port. Each request is in the log before a byte is answered, and again
when its exchange has ended: `answered`, `cut` (by us) or `closed` (by the client). What a path does: `pages.py`.
"""

import argparse
import asyncio
import itertools
import signal
from collections import Counter
from pathlib import Path

from tests.chaos import wire
from tests.chaos.journal import Journal
from tests.chaos.pages import body_of, kind_of

PARTS = 5
PART_S = 0.1


class Target:
    """The site; its gate holds `/hang/...` until SIGUSR1 opens it, and SIGUSR2 shuts it again."""

    def __init__(self, log: Journal) -> None:
        self._log = log
        self._numbers = itertools.count(1)
        self._requests: Counter[str] = Counter()
        self.gate = asyncio.Event()
        self._never = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await wire.read_request(reader)
            host, number = writer.get_extra_info("sockname")[0], next(self._numbers)
            self._log.note(what="request", number=number, host=host, path=request.path, method=request.method)
            self._log.note(what="end", number=number, how=await self._exchange(request.path, reader, writer))
        except wire.Gone:
            pass  # before it had asked anything
        finally:
            writer.close()

    async def _exchange(self, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        self._requests[path] += 1
        try:
            return await self._answer(path, reader, writer)
        except (wire.Gone, ConnectionError):
            return "closed"

    async def _answer(self, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        turn, body = self._requests[path], body_of(path)
        match kind_of(path):
            case "gone":
                answer = wire.head(404, 2) + b"no"
            case "down":
                answer = wire.head(503, 2) + b"no"
            case "busy" if turn <= 2:
                answer = wire.head(503, 2) + b"no"
            case "later" if turn == 1:
                answer = wire.head(429, 2, Retry_After="1") + b"no"
            case "cut" if turn == 1:
                writer.write(wire.head(200, len(body)) + body[: len(body) // 2])
                await writer.drain()
                return "cut"
            case "slow":
                return await self._slowly(body, reader, writer)
            case "hang":
                await wire.stays(reader, self.gate)
                answer = wire.head(200, len(body)) + body
            case _:
                answer = wire.head(200, len(body)) + body
        writer.write(answer)
        await writer.drain()
        return "answered"

    async def _slowly(self, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.write(wire.head(200, len(body)))
        size = -(-len(body) // PARTS)
        for n in range(PARTS):
            await wire.stays(reader, self._never, at_most_s=PART_S)
            writer.write(body[n * size : (n + 1) * size])
            await writer.drain()
        return "answered"


async def run(log: Journal, *, addresses: int) -> None:
    """Serves until SIGTERM; the first line on stdout is the port."""
    target = Target(log)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, target.gate.set)
    loop.add_signal_handler(signal.SIGUSR2, target.gate.clear)
    port = 0
    for n in range(1, addresses + 1):
        server = await asyncio.start_server(target.serve, f"127.0.0.{n}", port, limit=wire.MOST_HEAD_BYTES)
        port = server.sockets[0].getsockname()[1]
    print(port, flush=True)  # noqa: T201 - how the parent learns it
    await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--addresses", type=int, default=20)
    options = parser.parse_args()
    asyncio.run(run(Journal(options.log), addresses=options.addresses))


if __name__ == "__main__":
    main()
