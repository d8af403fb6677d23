"""What a worker knows of the opt-outs: all of them, read again whenever they may have changed."""

import asyncio
from typing import Final

from scrapejobs.domain.target import names_over
from scrapejobs.store import opt_outs
from scrapejobs.store.link import Link

LOOK_S: Final = 5.0


class OptOuts:
    """A loop that reads the list, and the question whether a host is on it."""

    name = "opt_outs"
    wakes_on = frozenset({"limits"})

    def __init__(self, link: Link) -> None:
        self._link = link
        self._names: frozenset[str] = frozenset()
        self._read = asyncio.Event()

    async def tick(self) -> float:
        self._names = frozenset(row["name"] for row in await self._link.run(opt_outs.listing()))
        self._read.set()
        return LOOK_S

    async def has(self, host: str) -> bool:
        """Whether the host is on the list, as it was read at most `LOOK_S` ago. Waits until it has been read once."""
        await self._read.wait()
        return bool(self._names) and not self._names.isdisjoint(names_over(host))
