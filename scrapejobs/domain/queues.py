"""The three queues, and in each the flows that have something to offer: whose turn it is, and what it costs. (NFR-5)"""

from collections.abc import Iterator

from scrapejobs.domain.fairness import FairQueue, Turns
from scrapejobs.domain.lanes import Flow, Tenant


class Queues:
    """A flow stands in its queue while it has a lane to offer and its tenant may run more."""

    __slots__ = ("_flows", "_turns")

    def __init__(self) -> None:
        self._turns = Turns()
        self._flows: tuple[FairQueue[Flow], ...] = (FairQueue(), FairQueue(), FairQueue())

    def __iter__(self) -> Iterator[FairQueue[Flow]]:
        return iter(self._flows)

    # ---- turns

    def choose(self) -> int | None:
        """The queue whose turn it is; None when no flow stands in any."""
        return self._turns.choose(self._flows)

    def charge(self, queue: int) -> None:
        """`queue` has had its turn."""
        self._turns.charge(queue)

    def refund(self, flow: Flow) -> None:
        """A turn of the flow, and of its queue, was not used after all."""
        flow.refunds += 1
        self._turns.refund(flow.queue)

    def first(self, queue: int) -> Flow | None:
        """The flow whose turn it is in `queue`; it stays where it stands."""
        heap = self._flows[queue].heap
        return heap[0][2] if heap else None

    def charge_first(self, flow: Flow) -> None:
        """`flow`, the first of its queue, has had its turn; it goes if it has nothing more to offer."""
        queue = self._flows[flow.queue]
        if flow.ready or flow.woken:
            queue.charge_first(flow.cost())
        else:
            queue.pop()
            flow.tag += flow.cost()
            flow.is_active = False

    def drop_first(self, flow: Flow) -> None:
        """`flow`, the first of its queue, can use no turn now."""
        self._flows[flow.queue].pop()
        flow.is_active = False

    # ---- who stands where

    def activate(self, flow: Flow) -> None:
        """The flow stands in its queue, if it has something to offer and its tenant may run more."""
        tenant = flow.tenant
        if flow.is_active or not (flow.ready or flow.woken) or tenant.running >= tenant.max_running:
            return
        queue = self._flows[flow.queue]
        if not queue.heap:
            self._turns.join(flow.queue)
        queue.push(flow)
        flow.is_active = True

    def resume(self, tenant: Tenant) -> None:
        """The tenant may run more, perhaps: its flows stand in their queues again."""
        for flow in tenant.flows:
            if flow is not None:
                self.activate(flow)

    def withdraw(self, flow: Flow) -> None:
        """The flow goes without a turn if it has nothing to offer any more."""
        if flow.is_active and not (flow.ready or flow.woken):
            self._flows[flow.queue].withdraw(flow)
            flow.is_active = False

    def reprice(self, tenant: Tenant, factor: float) -> None:
        """The tenant's turns cost `factor` times as much as before, those already had too."""
        for flow in tenant.flows:
            if flow is not None:
                self._flows[flow.queue].reprice(flow, factor)

    # ---- who is remembered only for its tag

    def rest(self, flow: Flow) -> None:
        """The flow has no lanes any more: it is remembered until the clock has passed its tag."""
        flow.refunds = 0
        self._flows[flow.queue].rest(flow)

    def has_resting(self, queue: int) -> bool:
        return bool(self._flows[queue].resting)

    def rested(self, queue: int, *, is_busy: bool) -> Iterator[Flow]:
        """Takes out those at rest that may be forgotten: all of them when nothing is queued there."""
        flows = self._flows[queue]
        return flows.rested() if is_busy else flows.drain_resting()
