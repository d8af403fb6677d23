"""Asks the dispatcher for permits: a redirected attempt sends nothing before its next host has room (ADR-0022)."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Final

from scrapejobs.adapters.bus import Bus
from scrapejobs.store import permits
from scrapejobs.store.link import Link
from scrapejobs.store.permits import Asked

LOOKS: Final = 4
"""How often a given permit is looked for in its life, should the wake-up be lost."""


@dataclass(slots=True)
class _Wish:
    """An attempt that waits. `n`: of its latest ask; None while it is to be asked, for the first time or anew."""

    host: str
    answer: asyncio.Future[None]
    n: int | None = None


class Permits:
    """Asks for all attempts of a worker that wait, in one statement, and looks what was given."""

    name = "permits"
    wakes_on = frozenset({"permit", "permitted"})

    def __init__(
        self,
        link: Link,
        bus: Bus,
        *,
        signal: Callable[[str], None],
        ttl_s: float,
        poll_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`link` is a durable one. `ttl_s`: a permit that was given longer ago is not used, but asked for anew: its
        token must not become a late burst at the target.
        """
        self._link = link
        self._bus = bus
        self._signal = signal
        self._ttl_s = ttl_s
        self._poll_s = poll_s
        self._clock = clock
        self._numbers = count(1)
        self._wishes: dict[int, _Wish] = {}

    async def wait(self, seq: int, host: str) -> None:
        """Returns when the attempt may send one request to `host`. It must hold no connection: by asking it gives up
        the room that it had. It may be cancelled at any time.
        """
        wish = self._wishes[seq] = _Wish(host, asyncio.get_running_loop().create_future())
        self._signal("permit")
        try:
            await wish.answer
        finally:
            del self._wishes[seq]

    async def tick(self) -> float:
        await self._ask()
        await self._look()
        if any(wish.n is None for wish in self._wishes.values()):
            return 0.0
        return min(self._poll_s, self._ttl_s / LOOKS) if self._wishes else self._poll_s

    async def _ask(self) -> None:
        """A try that fails is made again with a higher number, whatever became of it."""
        new = {seq: (wish, next(self._numbers)) for seq, wish in self._wishes.items() if wish.n is None}
        if new:
            await self._link.run(permits.ask([Asked(seq, wish.host, n) for seq, (wish, n) in new.items()]))
            for wish, n in new.values():
                wish.n = n
            await self._bus.wake("asked")

    async def _look(self) -> None:
        wishes = {seq: wish for seq, wish in self._wishes.items() if wish.n is not None}
        if not wishes:
            return
        looked_at = self._clock()
        for row in await self._link.run(permits.given(list(wishes))):
            wish = wishes[row["seq"]]
            if wish.n != row["n"] or wish.answer.done():
                continue
            if row["age_s"] + self._clock() - looked_at > self._ttl_s:
                wish.n = None
            else:
                wish.answer.set_result(None)
