"""The leased dispatcher: all I/O around `domain.picking`. One leads, any number stand by (ADR-0006, docs/picking.md).

Memory is a cache and the truth is in Postgres. Only the leader ever adds to a host's load, so what it does not know
yet (a completion) makes it too careful, never too bold; and each of its writes checks its epoch, so a leader that was
stopped and goes on moves nothing.
"""

import time
from collections.abc import Callable
from typing import Final

from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.circuit import CircuitPolicy
from scrapejobs.domain.picking import HostLimits
from scrapejobs.scheduler.dispatch_lease import DispatchLease, LeaseLost
from scrapejobs.scheduler.rules import Rules
from scrapejobs.scheduler.term import Pace, Term
from scrapejobs.store import dispatch
from scrapejobs.store.link import Link
from scrapejobs.telemetry import events

STANDBY_S: Final = 1.0


class Dispatcher:
    """Moves what may start now from `queued` to `ready`, never more than workers have free slots for."""

    name = "dispatcher"
    wakes_on = frozenset({"queued", "limits", "asked"})

    def __init__(
        self,
        link: Link,
        lease_link: Link,
        bus: Bus,
        *,
        holder: str,
        default: HostLimits,
        circuit: CircuitPolicy,
        pace: Pace,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._lease_link = lease_link
        self._bus = bus
        self._holder = holder
        self._default = default
        self._circuit = circuit
        self._pace = pace
        self._clock = clock
        self._term: Term | None = None
        self._epoch: int | None = None

    @property
    def leads(self) -> bool:
        return self._term is not None

    async def tick(self) -> float:
        """One pass. Any error drops the memory: the next pass takes the lease again, as a new epoch, and rebuilds."""
        term = self._term or await self._stand_for_election()
        if term is None:
            return STANDBY_S
        try:
            return await term.tick()
        except LeaseLost:
            events.dispatcher_lost(term.epoch)
            self._end_term()
            return 0.0
        except BaseException:
            self._end_term()
            raise

    async def aclose(self) -> None:
        """Hands over at once: a standby is woken to take the lease."""
        self._end_term()
        if self._epoch is not None and await self._lease_link.run(dispatch.resign(epoch=self._epoch)):
            await self._bus.wake("limits")

    async def _stand_for_election(self) -> "Term | None":
        asked = self._clock()
        epoch = await self._lease_link.run(
            dispatch.take(holder=self._holder, lease_s=self._pace.lease_s, epoch=self._epoch)
        )
        if epoch is None:
            return None
        self._epoch = epoch
        lease = DispatchLease(self._lease_link, epoch, lease_s=self._pace.lease_s, since=asked, clock=self._clock)
        rules = Rules(self._link, epoch=epoch, default=self._default, circuit=self._circuit, clock=self._clock)
        term = Term(self._link, self._lease_link, self._bus, lease, rules=rules, pace=self._pace, clock=self._clock)
        self._term = term
        try:
            queued = await term.rebuild()
        except BaseException:
            self._end_term()
            raise
        events.dispatcher_elected(epoch, rebuild_s=self._clock() - asked, queued=queued)
        return term

    def _end_term(self) -> None:
        if self._term is not None:
            self._term.lease.stop()
            self._term = None
