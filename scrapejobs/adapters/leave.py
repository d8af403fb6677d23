"""What an attempt may send: its first request if it is not late, and then one for each permit (ADR-0022, ADR-0032)."""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf

from scrapejobs.adapters.guard import Dial

Permit = Callable[[str], Awaitable[None]]
"""Returns when a request may be sent to the host of that key. What was held at another host is given up by the call."""


async def everywhere(_: str) -> None:
    """A permit for every host: where nobody keeps limits."""


class Leave:
    """Counts the requests of an attempt, those for robots.txt among them, against its permits."""

    def __init__(self, permit: Permit, *, send_by: float = inf) -> None:
        """`send_by`: until when the first request needs no permit, a time of the event loop's clock."""
        self._permit = permit
        self._send_by = send_by
        self._held: str | None = None
        self._is_first = True

    async def obtain(self, host: str, *, dial: Dial) -> None:
        """Returns when one request may be sent to the host. No connection may be held meanwhile."""
        if self._is_first:
            self._is_first, self._held = False, host
        if self._held == host and asyncio.get_running_loop().time() <= self._send_by:
            return
        self._held = None
        dial.asks = True
        dial.leave()
        await self._permit(host)
        dial.asks = False
        self._held, self._send_by = host, inf

    def use(self) -> None:
        """The request is about to be sent: the next one needs a leave of its own."""
        self._held = None
