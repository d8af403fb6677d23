"""Counts what is queued, so that gauges and commands need not (FR-13, case S17)."""

import time
from collections.abc import Callable
from typing import Final

from scrapejobs.store import depths
from scrapejobs.store.link import Link

LEAST_S: Final = 1.0
IDLE_S: Final = 5.0
SHARE: Final = 0.05


class Census:
    """A count a second, less often where it takes long: no more than a twentieth of the time goes into counting,
    however much is queued. Safe to run twice: the last count stands.
    """

    name = "census"
    wakes_on: frozenset[str] = frozenset()

    def __init__(self, link: Link, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._link = link
        self._clock = clock

    async def tick(self) -> float:
        began = self._clock()
        queued = await self._link.run(depths.count())
        return max(LEAST_S if queued else IDLE_S, (self._clock() - began) / SHARE)
