"""Keeps the leases of a worker, and breaks off what may no longer run."""

from typing import Final
from uuid import UUID

from scrapejobs.store import transitions
from scrapejobs.store.link import Link
from scrapejobs.telemetry import events
from scrapejobs.worker.slots import Break, Slots

LOOK_S: Final = 1.0
CLOCK_S: Final = 0.2


class LeaseKeeper:
    """Renews all leases in one statement, and looks each second whether they stand: the row is the truth about a
    cancel, the bus only a hint (P7).
    """

    name = "lease_keeper"
    wakes_on: frozenset[str] = frozenset()

    def __init__(self, link: Link, slots: Slots, *, lease_s: float, renew_s: float) -> None:
        self._link = link
        self._slots = slots
        self._lease_s = lease_s
        self._renew_s = renew_s
        self._renew_at = 0.0

    async def tick(self) -> float:
        if not self._slots.held:
            return min(LOOK_S, self._renew_s)
        if self._slots.clock() >= self._renew_at:
            await self._renew()
        held = {one.seq: one for one in self._slots.fetching()}
        standing = await self._link.run(transitions.standing(list(held))) if held else {}
        for seq, one in held.items():
            if seq not in standing:
                one.break_off(Break.LOST)
            elif standing[seq]:
                one.break_off(Break.CANCELLED)
        return min(LOOK_S, self._renew_s)

    async def _renew(self) -> None:
        """Renews every lease, also of attempts that report: a report may have to wait for the database."""
        asked = self._slots.clock()
        for seq in await self._link.run(transitions.renew(list(self._slots.held), lease_s=self._lease_s)):
            if one := self._slots.held.get(seq):
                one.ends_at = asked + self._lease_s
        self._renew_at = asked + self._renew_s

    def cancelled(self, job_id: UUID) -> None:
        """The hint that a job was cancelled: obeyed at once, for only a cancel sends it."""
        if one := self._slots.of_job(job_id):
            one.break_off(Break.CANCELLED)


class LeaseClock:
    """Breaks attempts off shortly before their lease ends by this process's own clock, whatever the database does: a
    worker that cannot renew must not fetch on beside the one that gets its job next. The job goes back, for this worker
    is not lost (NFR-7).
    """

    name = "lease_clock"
    wakes_on: frozenset[str] = frozenset()

    def __init__(self, slots: Slots, *, lease_s: float) -> None:
        self._slots = slots
        self._margin_s = min(1.0, lease_s / 10)

    async def tick(self) -> float:
        now = self._slots.clock()
        for one in self._slots.fetching():
            if now >= one.ends_at - self._margin_s:
                events.lease_lost(one.seq)
                one.break_off(Break.UNRENEWED)
        return min(CLOCK_S, self._margin_s)
