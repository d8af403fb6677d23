"""Answers that are held until something has happened: `Prefer: wait` (RFC 7240), and `wait` of the feed (ADR-0034).

A view answers at once and says, in the environ, what its client would rather wait for. The front keeps that answer
back without holding a thread, and asks the view again when it is told.
"""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest

MOST_S: Final = 30
AWAITED: Final = "scrapejobs.awaited"
"""Where in the environ an `Awaited` is, for the front."""
AGAIN: Final = "scrapejobs.again"
"""Set in the environ when a view is asked again for one and the same request."""

_KEPT_S: Final = 5.0
_WAIT: Final = re.compile(r"(?:^|,)\s*wait\s*=\s*(?:\"([0-9]{1,9})\"|([0-9]{1,9}))\s*(?=[,;]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Awaited:
    """What a client waits for, and for how long at most. `poll_s`: how often to look although nobody told."""

    topic: str
    seconds: float
    poll_s: float


def of_job(job_id: UUID | str) -> str:
    """The topic of a job's end."""
    return f"job:{job_id}"


def of_events(tenant_id: int) -> str:
    """The topic of a tenant's finish events."""
    return f"tenant:{tenant_id}"


def preferred_wait_s(request: HttpRequest) -> int | None:
    """The seconds of `Prefer: wait`, 30 at most; None without one. What cannot be read is ignored (RFC 7240, 2)."""
    found = _WAIT.search(request.META.get("HTTP_PREFER", ""))
    return min(int(found[1] or found[2]), MOST_S) if found else None


class Waits:
    """Who waits for what, in one event loop."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._told: dict[str, float] = {}
        self.draining = False

    @property
    def topics(self) -> list[str]:
        """What somebody waits for."""
        return list(self._waiting)

    def tell(self, topics: Iterable[str]) -> None:
        """Wakes who waits for one of these. They are remembered for a while, for who is about to wait."""
        now = time.monotonic()
        for topic in topics:
            self._told[topic] = now
            self._wake(topic)
        while self._told and next(iter(self._told.values())) < now - _KEPT_S:
            self._told.pop(next(iter(self._told)))

    def tell_all(self) -> None:
        """Wakes everybody: what was not heard meanwhile is looked for."""
        for topic in self.topics:
            self._wake(topic)

    def drain(self) -> None:
        """From here on nobody waits any more."""
        self.draining = True
        self.tell_all()

    async def until_told(self, topic: str, *, since: float, most_s: float, or_gone: asyncio.Future[Any]) -> None:
        """Returns when `topic` was told after `since` (of the monotonic clock), after so long, when the client has
        gone, or at the drain.
        """
        if self.draining or self._told.get(topic, 0.0) >= since:
            return
        told = asyncio.get_running_loop().create_future()
        self._waiting[topic].add(told)
        try:
            await asyncio.wait({told, or_gone}, timeout=most_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting[topic].discard(told)
            if not self._waiting[topic]:
                del self._waiting[topic]

    def _wake(self, topic: str) -> None:
        for told in self._waiting.get(topic, ()):
            if not told.done():
                told.set_result(None)
