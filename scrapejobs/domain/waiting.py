"""Where blocked lanes wait, and what brings them back: a job's end, a timer, an operator. (NFR-6)"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from scrapejobs.domain.lanes import WOKEN, Flow, Host, Lane, Line, Tenant
from scrapejobs.domain.politeness import INFINITY


class WaitingRoom:
    """The lines before all crowded hosts, and one timer per host that time alone may open.

    Room that becomes free is promised to the next in line, so that no lane is woken for nothing.
    """

    def __init__(self, *, activate: Callable[[Flow], None], forget: Callable[[Lane], None]) -> None:
        """`activate` is told of each flow that was given a promise, `forget` of lanes that may be forgotten."""
        self._activate = activate
        self._forget = forget
        self._timers: list[tuple[float, int, Host]] = []
        self._order = 0

    def next_timer(self) -> float:
        """When the first timer rings; infinity if none will."""
        while self._timers and self._timers[0][0] != self._timers[0][2].rings_at:
            heappop(self._timers)  # it was set anew meanwhile
        return self._timers[0][0] if self._timers else INFINITY

    def ring(self, now: float) -> None:
        """Wake the lines whose timers are due."""
        while self._timers and self._timers[0][0] <= now:
            at, _, host = heappop(self._timers)
            if host.rings_at == at and host.line is not None:
                host.rings_at = INFINITY
                self.wake(now, host, host.line)

    def park(self, now: float, lane: Lane) -> None:
        """The lane has left its flow and waits before its host."""
        host = lane.host
        line = host.line
        if line is None:
            line = host.line = Line()
        had_promise = lane.state == WOKEN
        if had_promise:
            line.release(lane)
        line.push(lane)
        if had_promise or host.rings_at == INFINITY:
            self._set_timer(now, host, line)

    def wake(self, now: float, host: Host, line: Line) -> None:
        """Promise the room that is free to those who wait, in their turn; see to the timer for the next."""
        if line.n_waiting:
            self._promise(line, host.room(now) - line.n_woken)
        self._set_timer(now, host, line)
        is_crowded = line.is_crowded
        for queue in line.queues:
            if queue.resting and (not is_crowded or queue.resting[0][0] <= queue.clock):
                for lane in queue.rested() if is_crowded else queue.drain_resting():
                    self._forget(lane)

    def release_promises(self, now: float, tenant: Tenant) -> None:
        """A tenant that may not run more holds no promises: its room goes to the next in line."""
        for flow in tenant.flows:
            while flow is not None and flow.woken:
                lane = flow.woken.popleft()
                flow.ready.append(lane)
                line = lane.host.line
                if line is not None:
                    line.release(lane)
                    self.wake(now, lane.host, line)

    def _promise(self, line: Line, room: float) -> None:
        while room >= 1 and line.n_waiting:
            lane = line.pop()
            flow = lane.flow
            if flow.tenant.running >= flow.tenant.max_running:
                flow.ready.append(lane)  # it could not use the room: no promise, and it asks again later
                continue
            line.reserve(lane)
            room -= 1
            if flow.woken is None:
                flow.woken = deque()
            flow.woken.append(lane)
            self._activate(flow)

    def _set_timer(self, now: float, host: Host, line: Line) -> None:
        """When time alone may bring room for one more than is promised."""
        at = host.room_at(now, line.n_woken + 1) if line.n_waiting else INFINITY
        if at != host.rings_at:
            host.rings_at = at
            if at < INFINITY:
                self._order += 1
                heappush(self._timers, (at, self._order, host))
