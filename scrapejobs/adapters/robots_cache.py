"""What is known of hosts' robots.txt, in Valkey for all workers. Without Valkey each attempt asks the host itself: a
cache may be lost, and nothing waits for it (P10).
"""

import time
import zlib
from contextlib import suppress
from typing import Final

import redis
import redis.asyncio

PREFIX: Final = "scrapejobs:robots:"
_PATIENCE_S: Final = 0.1
_REST_AFTER_FAILURE_S: Final = 1.0


class RobotsCache:
    """Finds and keeps; neither raises."""

    def __init__(self, url: str) -> None:
        self._client = redis.asyncio.Redis.from_url(
            url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S, retry=None
        )
        self._rest_until = 0.0

    async def find(self, origin: str) -> bytes | None:
        """What was kept of an origin, unless its time is over."""
        if time.monotonic() < self._rest_until:
            return None
        try:
            kept = await self._client.get(PREFIX + origin)
            return zlib.decompress(kept) if isinstance(kept, bytes) else None
        except (redis.RedisError, OSError):
            self._rest_until = time.monotonic() + _REST_AFTER_FAILURE_S
        except zlib.error:
            pass  # not ours
        return None

    async def keep(self, origin: str, rules: bytes, *, keep_s: float) -> None:
        """Keeps it for so many seconds."""
        if time.monotonic() < self._rest_until:
            return
        try:
            await self._client.set(PREFIX + origin, zlib.compress(rules), px=max(1, int(keep_s * 1000)))
        except (redis.RedisError, OSError):
            self._rest_until = time.monotonic() + _REST_AFTER_FAILURE_S

    async def aclose(self) -> None:
        """Lets go of its connections."""
        with suppress(redis.RedisError, OSError):
            await self._client.aclose()
