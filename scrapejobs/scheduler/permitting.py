"""Answers attempts that were redirected: room at their next host, before the jobs that wait there (ADR-0022)."""

from collections.abc import Callable, Iterable

from scrapejobs.adapters.bus import Bus
from scrapejobs.domain.picking import Picker
from scrapejobs.domain.politeness import START_S
from scrapejobs.scheduler.dispatch_lease import DispatchLease, LeaseLost
from scrapejobs.store import permits
from scrapejobs.store.link import Link
from scrapejobs.telemetry import events


class Permitting:
    """Tells the picker who asks, and the workers what it permits."""

    def __init__(
        self, link: Link, bus: Bus, picker: Picker, lease: DispatchLease, *, clock: Callable[[], float]
    ) -> None:
        """`link` is a durable one: a permit that was used must not be forgotten in a crash of the server."""
        self._link = link
        self._bus = bus
        self._picker = picker
        self._lease = lease
        self._clock = clock

    def hear(self, asks: Iterable[tuple[int, str]]) -> None:
        """These attempts ask for a permit, each at a host; they have let go of the one where they were."""
        now = self._clock()
        for seq, host in asks:
            if seq in self._picker.outstanding:
                self._picker.ask(now, seq=seq, host=host)

    async def step(self) -> None:
        """Gives the permits for which there is room. Raises LeaseLost when this epoch is over."""
        now = self._clock()
        seqs = self._picker.permit(now)
        if not seqs:
            return
        self._lease.check()
        given = await self._link.run(permits.give(seqs, epoch=self._lease.epoch))
        if not given.leads:
            raise LeaseLost
        for seq in seqs:
            if seq in given.seqs:
                self._picker.claimed(now, seq, at=self._clock() + START_S)
            else:  # its lease has ended meanwhile
                self._picker.give_back(now, seq)
        if given.seqs:
            events.permits_given(len(given.seqs))
            await self._bus.wake("permitted")
