"""Who the picker knows: tenants, hosts and lanes are made when first seen, forgotten when it changes nothing.

A picker lives for weeks and sees any number of hosts; what is idle and holds no debt must not stay in memory.
"""

from collections.abc import Callable
from heapq import heappop, heappush

from scrapejobs.domain.lanes import EMPTY, Flow, Host, Lane, LaneKey, Tenant, TenantShare
from scrapejobs.domain.politeness import INFINITY, Gate, HostLimits


class Roster:
    def __init__(
        self,
        *,
        limits_of: Callable[[str], HostLimits],
        share_of: Callable[[int], TenantShare],
        closed_until_of: Callable[[str], float],
        cold_start_at: float,
        window: int,
    ) -> None:
        self._limits_of = limits_of
        self._share_of = share_of
        self._closed_until_of = closed_until_of
        self._cold_start_at = cold_start_at
        self._window = window
        self.hosts: dict[str, Host] = {}
        self.tenants: dict[int, Tenant] = {}
        self.lanes: dict[LaneKey, Lane] = {}
        self._retiring: list[tuple[float, int, Host]] = []  # when an idle host may be forgotten
        self._order = 0

    # ---- made when first seen

    def host(self, key: str) -> Host:
        host = self.hosts.get(key)
        if host is None:
            gate = Gate(self._limits_of(key), empty_at=self._cold_start_at)
            gate.closed_until = self._closed_until_of(key)
            host = self.hosts[key] = Host(key, gate)
        return host

    def tenant(self, tenant_id: int) -> Tenant:
        tenant = self.tenants.get(tenant_id)
        if tenant is None:
            tenant = self.tenants[tenant_id] = Tenant(tenant_id, self._share_of(tenant_id))
        return tenant

    def make_lane(self, queue: int, tenant_id: int, host_key: str) -> Lane:
        tenant, host = self.tenant(tenant_id), self.host(host_key)
        flow = tenant.flows[queue]
        if flow is None:
            flow = tenant.flows[queue] = Flow(queue, tenant)
        flow.n_lanes += 1
        host.n_lanes += 1
        lane = self.lanes[queue, tenant_id, host_key] = Lane(flow, host, window=self._window)
        return lane

    def empty_buckets(self, now: float) -> None:
        """All buckets are empty at `now`, also those of hosts that are seen later."""
        self._cold_start_at = now
        for host in self.hosts.values():
            host.gate.empty(now)

    # ---- forgotten when it changes nothing

    def drop_lane(self, lane: Lane) -> bool:
        """Forget `lane` if it is empty and nothing is behind it. True if that was the last lane of its flow."""
        if lane or lane.state != EMPTY or lane.has_more or self.lanes.get(lane.key) is not lane:
            return False
        del self.lanes[lane.key]
        lane.host.n_lanes -= 1
        lane.flow.n_lanes -= 1
        return lane.flow.n_lanes == 0

    def drop_flow(self, flow: Flow) -> None:
        """Forget `flow` if it has no lanes; the caller knows that its tag no longer counts."""
        if flow.n_lanes == 0 and flow.tenant.flows[flow.queue] is flow:
            flow.tenant.flows[flow.queue] = None
            self.drop_tenant(flow.tenant)

    def drop_tenant(self, tenant: Tenant) -> None:
        """Forget `tenant` if it has neither work nor load."""
        if tenant.running == 0 and tenant.flows == [None, None, None]:
            self.tenants.pop(tenant.id, None)

    def drop_host(self, now: float, host: Host) -> None:
        """Forget `host` if it is idle: at once, or when its bucket is full again and it is open."""
        if not host.is_idle or host.is_retiring:
            return
        at = host.gate.untouched_at(now)
        if at <= now:
            if self.hosts.get(host.key) is host:
                del self.hosts[host.key]
        elif at < INFINITY:
            host.is_retiring = True
            self._order += 1
            heappush(self._retiring, (at, self._order, host))

    def drop_rested_hosts(self, now: float) -> None:
        """Forget the idle hosts whose time has come."""
        while self._retiring and self._retiring[0][0] <= now:
            host = heappop(self._retiring)[2]
            host.is_retiring = False
            self.drop_host(now, host)
