"""A site of one page as a process: `python -m benchmarks.fetch.site KB`. Prints its port; SIGTERM ends it.

Every request gets the same bytes, whatever it asks for, in one write; a connection is kept unless the request says
`Connection: close`. It does as little as a server can, so that it is not what is measured.
"""

import asyncio
import gc
import random
import sys


class Page(asyncio.Protocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=4 * len(self._answer))
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            request, self._held = self._held[:end].lower(), self._held[end + 4 :]
            self._transport.write(self._answer)
            if b"\r\nconnection: close" in request:
                self._transport.close()
                return


def page(size: int) -> bytes:
    """Text that compresses as pages do, about five times."""
    words = [f"<li class=item>{random.Random(n).getrandbits(24):x} word</li>\n" for n in range(400)]
    made = random.Random(1)
    return "".join(made.choice(words) for _ in range(size // 20)).encode()[:size]


async def main(size: int) -> None:
    body = page(size)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = head.encode() + body
    server = await asyncio.get_running_loop().create_server(lambda: Page(answer), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    gc.freeze()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) * 1024))
