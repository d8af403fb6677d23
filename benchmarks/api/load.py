"""Requests at an even rate, whatever the answers take: latency counts from when each was due, not from its sending."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CONNECTIONS = 64
JOB = b'{"url":"https://shop.example/item/%d","params":{"headers":{"Accept":"text/html"}},"tags":{"run":"bench"}}'


@dataclass(frozen=True, slots=True)
class Place:
    """Where the API is: a port for each gateway."""

    ports: Sequence[int]
    key: str


@dataclass(frozen=True, slots=True)
class Told:
    """Seconds of each request that was answered well, sorted; how many were not; requests a second."""

    seconds: list[float]
    n_failed: int
    rate: float

    def at(self, share: float) -> float:
        """The latency that this share of the requests kept below, in ms."""
        return self.seconds[min(len(self.seconds) - 1, int(share * len(self.seconds)))] * 1000


class Connection:
    """One request at a time over HTTP/1.1, kept alive. By hand: a client must cost less than what it measures."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n".encode()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and content."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        extra = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body) if body else b""
        writer.write(f"{method} {path} HTTP/1.1\r\n".encode() + self._head + extra + b"\r\n" + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"), 0)
        return int(head[9:12]), await reader.readexactly(length) if length else b""

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


async def run(place: Place, *, rate: float, seconds: float, next_request: Callable[[], tuple[str, str, bytes]]) -> Told:
    """`rate` requests a second for so many seconds, over connections that are taken in turn."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for number in range(CONNECTIONS):
        free.put_nowait(Connection(place.ports[number % len(place.ports)], place.key))
    took: list[float] = []
    failed = 0
    began = time.perf_counter() + 0.1

    async def one(due: float) -> None:
        nonlocal failed
        connection = await free.get()
        try:
            status, _ = await connection.ask(*next_request())
        finally:
            free.put_nowait(connection)
        if status < 300:
            took.append(time.perf_counter() - due)
        else:
            failed += 1

    async with asyncio.TaskGroup() as group:
        for number in range(int(rate * seconds)):
            due = began + number / rate
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            group.create_task(one(due))
    passed = time.perf_counter() - began
    while not free.empty():
        free.get_nowait().close()
    return Told(sorted(took), failed, len(took) / passed)


def writes() -> tuple[str, str, bytes]:
    return "POST", "/jobs", JOB % random.randrange(1_000_000)


def mix(ids: Sequence[str], *, share_of_writes: float) -> Callable[[], tuple[str, str, bytes]]:
    """Submissions, and reads of jobs that were handed in before."""

    def next_request() -> tuple[str, str, bytes]:
        if random.random() < share_of_writes:
            return writes()
        return "GET", f"/jobs/{random.choice(ids)}", b""

    return next_request
