"""Answers about single jobs, kept for a while in Valkey (ADR-0033). They are copies: without them all goes on (P10).

The read side fills them, under `job:{id}`. Nothing here raises or waits for long when Valkey is away.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
import redis

PATIENCE_S: Final = 0.1
REST_AFTER_FAILURE_S: Final = 1.0
FILLING_S: Final = 0.5
"""How long one reader may take to fill an entry before the next one tries."""

_LOOK: Final = """
local kept = redis.call('GET', KEYS[1])
if kept then return kept end
return redis.call('SET', KEYS[2], '', 'NX', 'PX', ARGV[1]) and 1 or 0
"""


class Entry(msgspec.Struct, frozen=True):
    """An answer as it goes out, and whose job it is of. `again_at`: when it makes sense to ask again, if that is known;
    `read_at`: when the rows were read, in seconds.
    """

    tenant_id: int
    etag: str
    is_final: bool
    again_at: datetime | None
    read_at: float
    body: msgspec.Raw


Found = Entry | Literal["fill", "wait", "off"]
"""An entry; or that it is this reader's turn to fill it; or that another is at it; or that there is no cache now."""


def key_of(job_id: UUID) -> str:
    """Where the answer about a job is kept."""
    return f"job:{job_id}"


def django_connection() -> Any:
    """A connection of the pool that Django's cache has, with its time-outs."""
    from django_redis import get_redis_connection

    return get_redis_connection("default")


class JobCache:
    """Looks up and keeps. After a failure it rests for a second, so that a dead Valkey costs requests nothing."""

    def __init__(self, connection: Callable[[], Any]) -> None:
        self._connection = connection
        self._look: Any = None
        self._rest_until = 0.0

    def look(self, job_id: UUID) -> Found:
        """What is kept of a job; with nothing kept, one reader of all is told to fill it."""
        kept = self._asked(lambda: self._script()(keys=[key_of(job_id), f"fill:{job_id}"], args=[int(FILLING_S * 1e3)]))
        if isinstance(kept, bytes):
            try:
                return msgspec.json.decode(kept, type=Entry)
            except msgspec.DecodeError:  # of another version of this program
                return "fill"
        return "off" if kept is None else "fill" if kept else "wait"

    def keep(self, job_id: UUID, entry: Entry, *, ttl_s: float, is_settled: bool) -> None:
        """Keeps an answer for so long. One that may still change takes no other's place: that may be newer."""
        ttl_ms = int(ttl_s * 1000)
        if ttl_ms <= 0:
            self.pass_on(job_id)
            return

        def put() -> Any:
            with self._connection().pipeline(transaction=False) as pipe:
                pipe.set(key_of(job_id), msgspec.json.encode(entry), px=ttl_ms, nx=not is_settled)
                pipe.delete(f"fill:{job_id}")
                return pipe.execute()

        self._asked(put)

    def pass_on(self, job_id: UUID) -> None:
        """Lets the next reader fill: this one found nothing to keep."""
        self._asked(lambda: self._connection().delete(f"fill:{job_id}"))

    def _script(self) -> Any:
        if self._look is None:
            self._look = self._connection().register_script(_LOOK)
        return self._look

    def _asked(self, ask: Callable[[], Any]) -> Any:
        if time.monotonic() < self._rest_until:
            return None
        try:
            return ask()
        except (redis.RedisError, OSError):
            self._rest_until = time.monotonic() + REST_AFTER_FAILURE_S
            return None
