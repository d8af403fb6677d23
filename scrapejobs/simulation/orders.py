"""Who chooses the next job: the product's picker, or for comparison an order that it does not use."""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Protocol

from scrapejobs.domain.picking import Picker
from scrapejobs.simulation.scenario import Scenario


class Chooser(Protocol):
    """As much of `Picker` as a simulation needs."""

    def add(self, now: float, *, seq: int, priority: int, tenant: int, host: str) -> None: ...
    def pick(self, now: float, n: int) -> list[int]: ...
    def claimed(self, now: float, seq: int, *, at: float) -> None: ...
    def finish(self, now: float, seq: int) -> None: ...
    def close_host(self, now: float, host: str, until: float) -> None: ...
    def next_timer(self) -> float: ...


def chooser_of(scenario: Scenario, *, tenant_names: list[str], closed_until_of: Callable[[str], float]) -> Chooser:
    """The scenario's order. A tenant's number is its place in `tenant_names`."""
    if scenario.order != "product":
        return OneLine(by_priority=scenario.order == "priority")
    return Picker(
        limits_of=lambda host: scenario.host(host).limits,
        share_of=lambda tenant: scenario.tenant(tenant_names[tenant]).share,
        closed_until_of=closed_until_of,
    )


class OneLine:
    """All jobs in one line, by arrival or strictly by priority; without weights, and without limits of hosts."""

    def __init__(self, *, by_priority: bool) -> None:
        self._by_priority = by_priority
        self._line: list[tuple[int, int]] = []

    def add(self, now: float, *, seq: int, priority: int, tenant: int, host: str) -> None:  # noqa: ARG002 - the picker's
        heappush(self._line, (priority if self._by_priority else 0, seq))

    def pick(self, now: float, n: int) -> list[int]:  # noqa: ARG002 - the picker's
        return [heappop(self._line)[1] for _ in range(min(n, len(self._line)))]

    def claimed(self, now: float, seq: int, *, at: float) -> None:
        """It counts no tokens."""

    def finish(self, now: float, seq: int) -> None:
        """Nothing waits for it."""

    def close_host(self, now: float, host: str, until: float) -> None:
        """It knows no hosts."""

    def next_timer(self) -> float:
        return inf
