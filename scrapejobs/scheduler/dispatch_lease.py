"""The right to dispatch: one process at a time has it, under an epoch that fences what it does (ADR-0006)."""

import asyncio
from collections.abc import Callable

import psycopg

from scrapejobs.store import dispatch
from scrapejobs.store.link import Link


class LeaseLost(Exception):  # noqa: N818 - says what happened
    """Another dispatcher may lead: drop the memory and stand by."""


class DispatchLease:
    """Renewed on a connection of its own, so that a long rebuild does not lose it."""

    def __init__(self, link: Link, epoch: int, *, lease_s: float, since: float, clock: Callable[[], float]) -> None:
        self._link = link
        self._lease_s = lease_s
        self._clock = clock
        self.epoch = epoch
        self.holds_until = since + lease_s
        self._task = asyncio.create_task(self._keep(), name="dispatch-lease")

    def check(self) -> None:
        """Raises LeaseLost when the lease may be over by this process's own clock."""
        if self._clock() >= self.holds_until:
            raise LeaseLost

    def stop(self) -> None:
        self._task.cancel()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._lease_s / 3)
            asked = self._clock()
            try:
                if not await self._link.run(dispatch.hold(epoch=self.epoch, lease_s=self._lease_s)):
                    self.holds_until = asked
                    return
            except psycopg.Error:
                continue  # the lease ends by the clock if this goes on
            self.holds_until = asked + self._lease_s
