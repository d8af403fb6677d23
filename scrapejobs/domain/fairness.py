"""Whose turn is it? Two small rules, used for the whole system and again at every crowded host.

`Turns` shares between the three queues (stride scheduling: Waldspurger and Weihl, 1995);
`FairQueue` shares between tenants inside a queue (start-time fair queueing: Goyal, Vin and Cheng, 1996).
Both measure service in virtual time, so neither needs a clock, and silence earns nothing in either. (NFR-5)
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, Protocol, TypeVar

WEIGHTS = (6, 3, 1)  # of `domain.job.PRIORITIES`, in their order
STRIDES = tuple(1 / weight for weight in WEIGHTS)


class Turns:
    """Six, three and one turns of ten; a queue that has nothing to offer gives its turns to the others."""

    __slots__ = ("clock", "passes")

    def __init__(self) -> None:
        self.clock = 0.0  # the pass that was served last
        self.passes = [0.0, 0.0, 0.0]  # per queue: the virtual time of its next turn

    def join(self, queue: int, *, credit: float = 0.0) -> None:
        """`queue` has something to offer again: level with the others, `credit` turns ahead at most."""
        self.passes[queue] = max(self.passes[queue], self.clock - credit * STRIDES[queue])

    def choose(self, offers: Sequence["FairQueue[T]"]) -> int | None:
        """The queue whose turn it is among those that offer something; None when no one does."""
        chosen, earliest = None, 0.0
        for queue, offer in enumerate(offers):
            if offer.heap:
                at = self.passes[queue]
                if chosen is None or at < earliest:
                    chosen, earliest = queue, at
        return chosen

    def charge(self, queue: int) -> None:
        """`queue` has had its turn."""
        self.clock = self.passes[queue]
        self.passes[queue] += STRIDES[queue]

    def refund(self, queue: int, n: int = 1) -> None:
        """`n` turns were not used after all."""
        self.passes[queue] -= n * STRIDES[queue]


class Tagged(Protocol):
    """What stands in a `FairQueue`: its tag is the virtual time at which it is next due."""

    tag: float


T = TypeVar("T", bound=Tagged)


class FairQueue(Generic[T]):
    """The item with the smallest tag is next; each turn puts its tag on by its cost (1 / weight).

    The clock is the tag served last. Whoever comes (back) starts at the clock or at its own tag, whichever is
    later: no credit for silence, no escape from a turn already had.
    """

    __slots__ = ("clock", "heap", "order", "resting")

    def __init__(self) -> None:
        self.clock = 0.0
        self.heap: list[tuple[float, int, T]] = []
        self.resting: list[tuple[float, int, T]] = []
        self.order = 0  # equal tags: first come, first served

    def push(self, item: T) -> None:
        """`item` waits for its turn from now on."""
        item.tag = max(item.tag, self.clock)
        self.order += 1
        heappush(self.heap, (item.tag, self.order, item))

    def pop(self) -> T:
        """Take out the item whose turn it is, and set the clock to its tag."""
        item = heappop(self.heap)[2]
        self.clock = item.tag
        return item

    def withdraw(self, item: T) -> None:
        """`item` leaves the line without a turn. Walks over all that stand in it."""
        self.heap[:] = [entry for entry in self.heap if entry[2] is not item]
        heapify(self.heap)

    def charge_first(self, cost: float) -> None:
        """The first item has had a turn of `cost` and stays in line."""
        item = self.heap[0][2]
        self.clock = item.tag
        item.tag += cost
        self.order += 1
        heapreplace(self.heap, (item.tag, self.order, item))

    def reprice(self, item: T, factor: float) -> None:
        """The weight of `item` changed: what it has yet to wait out is multiplied by `factor`, at once."""
        if item.tag > self.clock:
            item.tag = self.clock + (item.tag - self.clock) * factor
            self.sort()

    def sort(self) -> None:
        """A tag has changed: everyone stands where theirs says. Walks over all that stand in it."""
        self.heap[:] = [(item.tag, order, item) for _, order, item in self.heap]
        heapify(self.heap)

    def rest(self, item: T) -> None:
        """`item` left the line; it must be remembered until the clock has passed its tag."""
        self.order += 1
        heappush(self.resting, (item.tag, self.order, item))

    def rested(self) -> Iterator[T]:
        """Take out those at rest whose tag the clock has passed: forgetting them changes nothing."""
        while self.resting and self.resting[0][0] <= self.clock:
            yield heappop(self.resting)[2]

    def drain_resting(self) -> Iterator[T]:
        """Take out all at rest: nobody competes with them any more."""
        resting, self.resting = self.resting, []
        return (item for _, _, item in resting)
