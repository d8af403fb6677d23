"""A service that stands for a whole module of tests: what its clients see goes through proxies that can do harm."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapejobs.adapters.embedded import Servers
from scrapejobs_client import Client
from tests.chaos.proxy import Line, Proxy, proxy_to
from tests.chaos.troubles import Cut, Trouble
from tests.e2e.service import Service
from tests.e2e.target import Target


@dataclass(frozen=True, slots=True)
class Standing:
    """`api` and `store` are the ways of clients to the gateway and to the object store."""

    service: Service
    target: Target
    api: Proxy
    store: Proxy
    directory: Path

    def client(self, **options: Any) -> Client:
        """A client whose calls go through the proxy."""
        return Client(self.api.url, self.service.key("acme"), **options)

    def environment(self, tenant: str = "acme") -> dict[str, str]:
        """What the command line needs."""
        return {"SCRAPEJOBS_URL": self.api.url, "SCRAPEJOBS_KEY": self.service.key(tenant)}


@contextlib.contextmanager
def standing_service(servers: Servers, directory: Path) -> Iterator[Standing]:
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(proxy_to(servers.environment["S3_ENDPOINT_URL"]))
        service = Service(servers, directory, S3_PUBLIC_ENDPOINT_URL=store.url, SCRAPEJOBS_LINK_TTL_S="2")
        stack.callback(service.close)
        target = Target(addresses=2)
        stack.callback(target.close)
        service.start_all()
        api = stack.enter_context(proxy_to(f"http://127.0.0.1:{service.port}"))
        yield Standing(service, target, api, store, directory)


class CutAnswer(Trouble):
    """The line is reset when `after_bytes` of what the server says have come through, the first `times` times."""

    def __init__(self, after_bytes: int, *, times: int = 1) -> None:
        self._after_bytes = after_bytes
        self._left = times
        self._seen: dict[Line, int] = {}

    async def back(self, line: Line, data: bytes) -> bytes:
        seen = self._seen.get(line, 0)
        self._seen[line] = seen + len(data)
        if not self._left or seen + len(data) <= self._after_bytes:
            return data
        self._left -= 1
        line.near[1].write(data[: self._after_bytes - seen])
        await line.near[1].drain()
        line.counts["cut answers"] += 1
        raise Cut


@dataclass(eq=False)
class Listen(Trouble):
    """No trouble: notes the heads of requests."""

    heads: list[str] = field(default_factory=list)

    async def onward(self, line: Line, piece: Any) -> bytes:
        if piece.offset is None:
            line.counts["heads"] += 1
            self.heads.append(piece.data.decode("latin-1"))
        return bytes(piece.data)


class Falsify(Trouble):
    """The last byte of each part of an answer is another one."""

    async def back(self, line: Line, data: bytes) -> bytes:
        line.counts["falsified"] += 1
        return data[:-1] + bytes([data[-1] ^ 1])
