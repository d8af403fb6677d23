"""How much of the queues is held in memory, and which lanes are to be filled again. (NFR-10)"""

from dataclasses import dataclass
from itertools import islice

from scrapejobs.domain.lanes import Lane, LaneKey


@dataclass(frozen=True, slots=True)
class Wanted:
    """A lane whose window runs low: at most `n` of its entries with a seq above `after` are asked for."""

    priority: int
    tenant: int
    host: str
    after: int
    n: int


class Windows:
    """Told of every entry that comes into a lane's window or leaves it."""

    __slots__ = ("_depth", "_low")

    def __init__(self) -> None:
        self._depth = [0, 0, 0]  # entries held, by priority
        self._low: dict[LaneKey, Lane] = {}  # lanes to be filled again

    @property
    def n_held(self) -> int:
        return sum(self._depth)

    def wanted(self, most: int) -> list[Wanted]:
        """Up to `most` of the lanes that run low."""
        return [Wanted(*lane.key, after=lane.last, n=lane.next_window) for lane in islice(self._low.values(), most)]

    def is_busy(self, queue: int) -> bool:
        """Whether anything is queued there, held or not."""
        return bool(self._depth[queue]) or any(key[0] == queue for key in self._low)

    def gained(self, lane: Lane, n: int) -> None:
        self._depth[lane.flow.queue] += n

    def filled(self, lane: Lane, n: int) -> None:
        """It was filled again, by `n`."""
        self._low.pop(lane.key, None)
        self.gained(lane, n)

    def lost(self, lane: Lane, n: int) -> None:
        self._depth[lane.flow.queue] -= n
        if lane.runs_low:
            self._low[lane.key] = lane
