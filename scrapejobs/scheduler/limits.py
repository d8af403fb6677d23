"""What a host and a tenant may take, as the rows say it now; rows are few, hosts are many."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from scrapejobs.domain.picking import HostLimits, TenantShare
from scrapejobs.domain.target import names_over
from scrapejobs.store.run import Row


@dataclass(frozen=True, slots=True)
class Limits:
    """One reading of the rows. `paused_until` holds monotonic times by host."""

    default: HostLimits
    rows: dict[str, tuple[float | None, float | None, int | None]]
    paused_until: dict[str, float]
    shares: dict[int, TenantShare]

    @classmethod
    def read(cls, hosts: Iterable[Row], tenants: Iterable[Row], *, default: HostLimits, now: float) -> Self:
        return cls(default, {}, {}, {}).with_hosts(hosts, now=now).with_tenants(tenants)

    def with_hosts(self, hosts: Iterable[Row], *, now: float) -> Self:
        """The same shares, with another reading of the hosts' limits and pauses."""
        hosts = list(hosts)
        return replace(
            self,
            rows={row["name"]: (row["rate"], row["burst"], row["concurrency"]) for row in hosts},
            paused_until={row["name"]: now + row["paused_for_s"] for row in hosts if (row["paused_for_s"] or 0) > 0},
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
        return HostLimits(rate, burst, concurrency)

    def pause_of(self, host: str) -> float:
        """Until when a host is paused, by its own row or a wider one; 0 when it is not."""
        return max((self.paused_until.get(name, 0.0) for name in names_over(host)), default=0.0)

    def share(self, tenant: int) -> TenantShare:
        return self.shares.get(tenant) or TenantShare()
