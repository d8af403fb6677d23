"""Whether a host's robots.txt lets us fetch a URL (RFC 9309), read with protego.

A file that is there is obeyed, one that is not there (4xx) lets everything be fetched, and one that the host fails to
give (5xx) nothing. What comes of it is kept for all workers, at most for a day. A host that is out of reach, or asks
for patience (429), is so for the job too: the attempt ends as it would without robots.txt. Crawl-delay is no part of
the RFC and is left alone; the limits of hosts are the operator's.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import IO, Final, Protocol
from weakref import WeakValueDictionary

from protego import Protego

from scrapejobs.adapters.fetch_errors import FetchFailed
from scrapejobs.domain.outcome import Permanent, Temporary
from scrapejobs.domain.target import Target

MAX_BYTES: Final = 512 * 1024
"""RFC 9309, 2.5: at least 500 KiB are read. What comes after is left."""
MAX_REDIRECTS: Final = 5
"""RFC 9309, 2.3.1.2. After more the file is taken as not there."""
DENIED_S: Final = 300.0
"""How long a file that the host failed to give is not asked for again."""

_PATH: Final = "/robots.txt"
_MOST_PARSED: Final = 256
_SLOW_TO_PARSE_BYTES: Final = 16 * 1024
_ALL, _NONE, _FILE = b"allow", b"deny", b"file:"


class File(Protocol):
    """A robots.txt that came."""

    @property
    def body(self) -> IO[bytes]: ...


class Cache(Protocol):
    """Keeps what is known of an origin, for all workers."""

    async def find(self, origin: str) -> bytes | None: ...

    async def keep(self, origin: str, rules: bytes, *, keep_s: float) -> None: ...


Get = Callable[[str], Awaitable[File | Temporary | Permanent]]
"""Fetches the robots.txt at a URL, within the limits of this module."""


class Robots:
    """The rules of every origin that was asked for."""

    def __init__(self, cache: Cache, *, keep_s: float) -> None:
        """`keep_s`: at most a day (RFC 9309, 2.4)."""
        self._cache = cache
        self._keep_s = keep_s
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._parsed: OrderedDict[bytes, Protego] = OrderedDict()

    async def check(self, target: Target, agent: str, *, ready: Callable[[], Awaitable[None]], get: Get) -> None:
        """Returns when the target may be fetched by the user agent. Raises `FetchFailed` robots_denied, or what kept
        the file from being read now. `ready` is awaited before a request is sent with `get`.
        """
        origin_end = target.url.index("/", len(target.scheme) + len("://"))
        origin, path = target.url[:origin_end], target.url[origin_end:]
        if path.partition("?")[0] == _PATH:
            return
        rules = await self._cache.find(origin)
        if rules is None:
            await ready()  # before the lock: who has it must not wait for room that is held by those who wait for it
            async with self._locks.setdefault(origin, asyncio.Lock()):
                rules = await self._cache.find(origin) or await self._fetched(origin, get)
        if not await self._allows(rules, target.url, agent):
            raise FetchFailed("robots_denied")

    async def _fetched(self, origin: str, get: Get) -> bytes:
        answer = await get(origin + _PATH)
        keep_s = self._keep_s
        if not isinstance(answer, Temporary | Permanent):
            with answer.body as body:
                rules = _FILE + await asyncio.to_thread(body.read)
        elif answer.code.startswith("http_5"):
            rules, keep_s = _NONE, min(keep_s, DENIED_S)
        elif isinstance(answer, Temporary):
            raise FetchFailed(answer.code, detail=answer.detail, retry_after_s=answer.retry_after_s)
        else:
            rules = _ALL
        await self._cache.keep(origin, rules, keep_s=keep_s)
        return rules

    async def _allows(self, rules: bytes, url: str, agent: str) -> bool:
        if not rules.startswith(_FILE):
            return rules == _ALL
        parsed = self._parsed.get(rules)
        if parsed is None:
            text, parse = rules.removeprefix(_FILE).decode("utf-8-sig", errors="replace"), Protego.parse
            parsed = await asyncio.to_thread(parse, text) if len(rules) > _SLOW_TO_PARSE_BYTES else parse(text)
            self._parsed[rules] = parsed
        self._parsed.move_to_end(rules)
        while len(self._parsed) > _MOST_PARSED:
            self._parsed.popitem(last=False)
        return bool(parsed.can_fetch(url, agent))
