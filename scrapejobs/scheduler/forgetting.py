"""Lets go of entries that left `queued` otherwise than by a dispatch: their jobs were cancelled or have expired.

Where an entry may start it is found missing when it is picked. At a paused host, or while no worker is there, that may
be never, and memory must not grow with all that was ever handed in and taken back (case S17).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from scrapejobs.domain.lanes import LaneKey
from scrapejobs.domain.picking import Picker
from scrapejobs.store import dispatch
from scrapejobs.store.link import Link

ROUND_S: Final = 60.0
SLICE: Final = 5000


class Forgetting:
    """Goes through a picker's memory once a minute, a slice at each step, so that no pass takes long."""

    def __init__(self, link: Link, picker: Picker, *, clock: Callable[[], float]) -> None:
        self._link = link
        self._picker = picker
        self._clock = clock
        self._next_at = clock() + ROUND_S
        self._round: Iterator[tuple[int, LaneKey]] = iter(())

    async def step(self) -> None:
        """Looks at the next entries, if a round is under way or due, and forgets those that are queued no more."""
        part = dict(islice(self._round, SLICE))
        if not part and self._picker.queued and self._clock() >= self._next_at:
            self._next_at = self._clock() + ROUND_S
            self._round = self._picker.entries()
            part = dict(islice(self._round, SLICE))
        if not part:
            return
        queued = await self._link.run(dispatch.still_queued(list(part)))
        gone: defaultdict[LaneKey, set[int]] = defaultdict(set)
        for seq, lane in part.items():
            if seq not in queued:
                gone[lane].add(seq)
        for lane, seqs in gone.items():
            self._picker.forget(self._clock(), lane, seqs)
