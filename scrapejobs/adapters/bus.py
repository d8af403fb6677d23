"""Wake-ups and cancels over Valkey pub/sub: hints, never the truth. What is lost costs one poll interval (ADR-0014).

`SyncBus` sends from the gateway and commands; `Bus` sends and listens in the loops. Neither raises nor waits for long
when Valkey is away: nothing that was promised may depend on it (P10).
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal
from uuid import UUID

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

from scrapejobs.adapters.job_cache import key_of

Topic = Literal["submitted", "queued", "limits", "ready", "asked", "permitted", "delayed", "finished", "delivery"]
"""What there may be work in, for the loops that wait for it: see their `wakes_on`."""

WAKE: Final = "scrapejobs:wake"
CANCEL: Final = "scrapejobs:cancel"
FINISHED: Final = "scrapejobs:finished"

_PATIENCE_S: Final = 0.1
_REST_AFTER_FAILURE_S: Final = 1.0


class SyncBus:
    """Sends hints. After a failure it sends none for a second, so that a dead Valkey costs requests nothing."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(
            url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S, retry=Retry(NoBackoff(), 0)
        )
        self._rest_until = 0.0

    def wake(self, topic: Topic) -> None:
        """Tells the loops that wait for `topic` that there is work."""
        self._send(WAKE, topic)

    def cancelled(self, job_id: UUID) -> None:
        """Tells the worker that runs a job to let go of it."""
        self._send(CANCEL, str(job_id))

    def forget(self, job_id: UUID) -> None:
        """Removes the cached answer about a job, so that who changed it reads what is."""
        self._ask(lambda: self._client.delete(key_of(job_id)))

    def _send(self, channel: str, message: str) -> None:
        self._ask(lambda: self._client.publish(channel, message))

    def _ask(self, ask: Callable[[], object]) -> None:
        if time.monotonic() < self._rest_until:
            return
        try:
            ask()
        except (redis.RedisError, OSError):
            self._rest_until = time.monotonic() + _REST_AFTER_FAILURE_S


class Bus:
    """Sends hints and hears them. `connected` tells whether wake-ups can be relied on; if not, poll."""

    def __init__(
        self,
        url: str,
        *,
        on_wake: Callable[[str], None],
        on_cancel: Callable[[UUID], None] | None = None,
        on_finished: Callable[[list[str]], None] | None = None,
        on_change: Callable[[bool], None] = lambda _: None,
        ping_s: float = 5.0,
    ) -> None:
        """`ping_s`: after so much silence the server is asked, and after as much again it is taken for lost."""
        self._client = redis.asyncio.Redis.from_url(
            url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S, retry=None
        )
        self._hearing = redis.asyncio.Redis.from_url(url, socket_connect_timeout=1.0, retry=None)
        self._on_wake = on_wake
        self._on_cancel = on_cancel
        self._on_finished = on_finished
        self._on_change = on_change
        self._ping_s = ping_s
        self._rest_until = 0.0
        self.connected = False

    async def wake(self, *topics: Topic) -> None:
        """Tells the loops that wait for these topics, in whatever process, that there is work; in one round trip."""
        if time.monotonic() < self._rest_until:
            return
        try:
            async with self._client.pipeline(transaction=False) as pipe:
                for topic in topics:
                    pipe.publish(WAKE, topic)
                await pipe.execute()
        except (redis.RedisError, OSError):
            self._rest_until = time.monotonic() + _REST_AFTER_FAILURE_S

    async def finished(self, jobs: Mapping[UUID, int]) -> int:
        """Removes the cached answers about jobs that have ended, and tells who waits for them; how many there were.
        `jobs`: of which tenant each is. What is told are topics: `job:ID`, `tenant:ID`.
        """
        if not jobs or time.monotonic() < self._rest_until:
            return 0
        try:
            removed = await self._client.delete(*map(key_of, jobs))
            topics = [
                *(f"job:{job_id}" for job_id in jobs),
                *(f"tenant:{tenant_id}" for tenant_id in set(jobs.values())),
            ]
            await self._client.publish(FINISHED, " ".join(topics))
        except (redis.RedisError, OSError):
            self._rest_until = time.monotonic() + _REST_AFTER_FAILURE_S
            return 0
        return int(removed)

    async def listen(self) -> None:
        """Hears hints until cancelled; connects again whenever the connection is lost."""
        while True:
            try:
                await self._hear()
            except (redis.RedisError, OSError):
                self._now(connected=False)
                await asyncio.sleep(_REST_AFTER_FAILURE_S)

    async def aclose(self) -> None:
        with contextlib.suppress(redis.RedisError, OSError):
            await self._client.aclose()
            await self._hearing.aclose()

    async def _hear(self) -> None:
        async with self._hearing.pubsub() as pubsub:
            wanted = {CANCEL: self._on_cancel, FINISHED: self._on_finished}
            await pubsub.subscribe(WAKE, *(channel for channel, hear in wanted.items() if hear))
            asked = False
            while True:
                message = await pubsub.get_message(ignore_subscribe_messages=False, timeout=self._ping_s)
                if message is None and asked:
                    raise redis.ConnectionError("no answer to a ping")
                if message is None:
                    await pubsub.ping()
                elif message["type"] == "subscribe":
                    self._now(connected=True)
                elif message["type"] == "message":
                    self._heard(message["channel"].decode(), message["data"].decode())
                asked = message is None

    def _now(self, *, connected: bool) -> None:
        if connected is not self.connected:
            self.connected = connected
            self._on_change(connected)

    def _heard(self, channel: str, text: str) -> None:
        if channel == WAKE:
            self._on_wake(text)
        elif channel == FINISHED and self._on_finished:
            self._on_finished(text.split())
        elif self._on_cancel:
            with contextlib.suppress(ValueError):
                self._on_cancel(UUID(text))
