"""What a host and a tenant may take, as the rows say it now; rows are few, hosts are many.

A host whose circuit is not closed takes nothing until its trial, and then one job at a time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Self

from scrapejobs.domain.picking import HostLimits, TenantShare
from scrapejobs.domain.target import names_over
from scrapejobs.store.run import Row


@dataclass(frozen=True, slots=True)
class Limits:
    """One reading of the rows. `paused_until` and `trial_at` (of the circuits that are not closed) hold monotonic times
    by host, `learned` the shares of their rates that hosts have shown to bear.
    """

    default: HostLimits
    rows: dict[str, tuple[float | None, float | None, int | None]] = field(default_factory=dict)
    paused_until: dict[str, float] = field(default_factory=dict)
    trial_at: dict[str, float] = field(default_factory=dict)
    learned: dict[str, float] = field(default_factory=dict)
    shares: dict[int, TenantShare] = field(default_factory=dict)

    def with_hosts(self, hosts: Iterable[Row], *, now: float) -> Self:
        """The same shares, with another reading of the hosts' limits and pauses."""
        hosts = list(hosts)
        return replace(
            self,
            rows={row["name"]: (row["rate"], row["burst"], row["concurrency"]) for row in hosts},
            paused_until={row["name"]: now + row["paused_for_s"] for row in hosts if (row["paused_for_s"] or 0) > 0},
        )

    def with_circuits(self, circuits: Iterable[Row], *, now: float) -> Self:
        """The same otherwise, with another reading of the circuits that are not closed or have learned something."""
        circuits = list(circuits)
        return replace(
            self,
            trial_at={row["name"]: now + row["retry_in_s"] for row in circuits if row["retry_in_s"] is not None},
            learned={row["name"]: row["share"] for row in circuits if row["share"] < 1},
        )

    def with_tenants(self, tenants: Iterable[Row]) -> Self:
        """The same hosts, with another reading of the tenants' shares."""
        return replace(self, shares={row["id"]: TenantShare(row["weight"], row["max_running"]) for row in tenants})

    def of(self, host: str) -> HostLimits:
        """The limits of a host: each field from the narrowest row that gives it, in the end from the settings."""
        rate, burst, concurrency = self.default.rate, self.default.burst, self.default.concurrency
        for name in reversed(list(names_over(host))):
            row = self.rows.get(name)
            if row:
                rate = row[0] if row[0] is not None else rate
                burst = row[1] if row[1] is not None else burst
                concurrency = row[2] if row[2] is not None else concurrency
        share = self.learned.get(host, 1.0)
        rate, burst = None if rate is None else rate * share, max(1.0, burst * share)
        return HostLimits(rate, burst, 1 if host in self.trial_at else concurrency)

    @property
    def closed_names(self) -> set[str]:
        """The names of rows that close hosts."""
        return {*self.paused_until, *self.trial_at}

    def closed_until(self, host: str) -> float:
        """Until when nothing starts at a host: paused by its own row or a wider one, or its circuit open; else 0."""
        paused = max((self.paused_until.get(name, 0.0) for name in names_over(host)), default=0.0)
        return max(paused, self.trial_at.get(host, 0.0))

    def share(self, tenant: int) -> TenantShare:
        return self.shares.get(tenant) or TenantShare()
