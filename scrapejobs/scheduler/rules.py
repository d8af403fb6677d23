"""The rules of a term: limits, pauses, circuits and shares, read from their rows and told to the picker."""

from collections.abc import Callable, Iterable
from typing import Final

from scrapejobs.domain.circuit import CircuitPolicy
from scrapejobs.domain.picking import HostLimits, Picker, TenantShare
from scrapejobs.scheduler.limits import Limits
from scrapejobs.store import circuits, dispatch
from scrapejobs.store.link import Link
from scrapejobs.telemetry import events

RELOAD_S: Final = 0.5


class Rules:
    """What hosts and tenants may take now. What changes holds at once, also for what is queued (FR-11, FR-12)."""

    def __init__(
        self, link: Link, *, epoch: int, default: HostLimits, circuit: CircuitPolicy, clock: Callable[[], float]
    ) -> None:
        self._link = link
        self._epoch = epoch
        self._circuit = circuit
        self._clock = clock
        self._read_at = float("-inf")
        self._limits = Limits(default)

    def limits_of(self, host: str) -> HostLimits:
        return self._limits.of(host)

    def share_of(self, tenant: int) -> TenantShare:
        return self._limits.share(tenant)

    def closed_until_of(self, host: str) -> float:
        return self._limits.closed_until(host)

    async def refresh(self, picker: Picker, *, something_ended: bool) -> None:
        """Reads the rows anew when they were read half a second ago, or when an attempt has ended: its report frees a
        slot, and may pause its host in the same transaction (Retry-After) or speak against it. So whoever has seen
        that must read the hosts before the slot is given away (NFR-6).
        """
        if self._clock() - self._read_at >= RELOAD_S:
            await self.read(picker)
        elif something_ended:
            await self._read_hosts(picker)

    async def read(self, picker: Picker) -> None:
        """Reads all rows and applies what changed."""
        await self._read_hosts(picker)
        tenants = await self._link.run(dispatch.tenant_rows())
        now, before = self._clock(), self._limits
        self._read_at = now
        self._limits = after = before.with_tenants(tenants)
        for tenant, share in after.shares.items():
            if before.shares.get(tenant) != share:
                picker.set_share(now, tenant, share)

    async def _read_hosts(self, picker: Picker) -> None:
        found = await self._link.run(dispatch.host_rules())
        if found.has_signs:
            await self._weigh_signs()
            found = await self._link.run(dispatch.host_rules())
        now, before = self._clock(), self._limits
        self._limits = after = before.with_hosts(found.hosts, now=now).with_circuits(found.circuits, now=now)
        changed = [name for name, _ in before.rows.items() ^ after.rows.items()]
        learned = [name for name, _ in before.learned.items() ^ after.learned.items()]
        for host in _known(picker, {*changed, *learned, *(before.trial_at.keys() ^ after.trial_at.keys())}):
            picker.set_host_limits(now, host, after.of(host))
        for host in _known(picker, before.closed_names | after.closed_names):
            picker.close_host(now, host, after.closed_until(host))

    async def _weigh_signs(self) -> None:
        """Lets what ended attempts said about their hosts open and close circuits."""
        for row in await self._link.run(circuits.weigh_signs(epoch=self._epoch, policy=self._circuit)):
            events.circuit_changed(row["host"], row["change"], code=row["reason"])


def _known(picker: Picker, names: Iterable[str]) -> set[str]:
    """The hosts that the picker knows and that rows of these names speak of."""
    hosts, known = picker.hosts, set[str]()
    for name in names:
        if name.startswith("*."):
            known |= {host for host in hosts if host.endswith(name[1:])}
        elif name in hosts:
            known.add(name)
    return known
