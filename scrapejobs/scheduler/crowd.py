"""Tells readers, once a second, at which hosts jobs wait for room (FR-4, case S22)."""

from collections.abc import Callable
from typing import Final

from scrapejobs.domain.picking import Picker
from scrapejobs.store import dispatch
from scrapejobs.store.link import Link

EVERY_S: Final = 1.0
MOST_HOSTS: Final = 10_000
"""Jobs of hosts beyond these are said to wait for their turn, which is true as well."""


class Crowd:
    """Writes down what only the dispatcher knows; nothing but `waiting_for` is derived from it."""

    def __init__(self, link: Link, picker: Picker, *, epoch: int, clock: Callable[[], float]) -> None:
        self._link = link
        self._picker = picker
        self._epoch = epoch
        self._clock = clock
        self._next_at = clock()
        self._told_any = True  # what a former dispatcher told

    async def step(self) -> None:
        """Tells it if a second has passed and there is something to tell, or to take back."""
        now = self._clock()
        if now < self._next_at:
            return
        self._next_at = now + EVERY_S
        crowded = self._picker.crowded(MOST_HOSTS)
        if crowded or self._told_any:
            await self._link.run(dispatch.tell_crowded(crowded, now=now, epoch=self._epoch))
        self._told_any = bool(crowded)
