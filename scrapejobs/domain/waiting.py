"""Where blocked lanes wait, and what brings them back: a job's end, a timer, an operator. (NFR-6)"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from scrapejobs.domain.lanes import EMPTY, READY, WAITING, Flow, Host, Lane, Line, Tenant
from scrapejobs.domain.politeness import INFINITY


class WaitingRoom:
    """The lines before all crowded hosts, and one timer per host that time alone may open.

    Room that becomes free is promised to the next in line, so that no lane is woken for nothing. A lane may get several
    promises before one pick, as many as its turns are. While it has not used those from before the last pick, for want
    of a turn or of a worker, it gets no others: what it cannot use would stand empty.
    """

    def __init__(self, *, activate: Callable[[Flow], None], forget: Callable[[Lane], None]) -> None:
        """`activate` is told of each flow that was given a promise, `forget` of lanes that may be forgotten."""
        self._activate = activate
        self._forget = forget
        self._timers: list[tuple[float, int, Host]] = []
        self._order = 0
        self._n_picks = 0

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

    def pick_ends(self) -> None:
        """Promises that are not used by now are old ones."""
        self._n_picks += 1

    def park(self, now: float, lane: Lane) -> None:
        """The lane has left its flow and waits before its host; what it was promised there it could not use."""
        line = lane.host.line
        if line is not None and lane.promises:
            line.release(lane)
            self._set_timer(now, lane.host, line)
        if lane.state != WAITING:
            self.stand_in_line(now, lane)

    def stand_in_line(self, now: float, lane: Lane) -> None:
        """The lane waits before its host with the entries for which it has no promise."""
        host = lane.host
        line = host.line
        if line is None:
            line = host.line = Line()
        line.push(lane)
        if host.rings_at == INFINITY:
            self._set_timer(now, host, line)

    def wake(self, now: float, host: Host, line: Line) -> None:
        """Promise the room that is free to those who wait, in their turn; see to the timer for the next."""
        if line.n_waiting:
            self._promise(line, host.room(now) - line.n_promised)
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
                line = lane.host.line
                if line is not None:
                    line.release(lane)
                    if lane.state == EMPTY:
                        _stand_ready(lane)
                    self.wake(now, lane.host, line)

    def _promise(self, line: Line, room: float) -> None:
        while room >= 1 and line.n_waiting:
            lane = line.pop()
            flow = lane.flow
            if flow.tenant.running >= flow.tenant.max_running:
                _stand_ready(lane)  # it could not use the room: no promise, and it asks again later
                continue
            if lane.promises and lane.promised_in < self._n_picks:
                continue  # it comes back when it has used one
            line.reserve(lane)
            room -= 1
            if lane.promises == 1:
                self._wake_flow(lane)
            if len(lane) > lane.promises and room < INFINITY:
                line.push(lane)

    def _wake_flow(self, lane: Lane) -> None:
        """The lane has a first promise: it stands in its flow with it."""
        flow = lane.flow
        lane.promised_in = self._n_picks
        if flow.woken is None:
            flow.woken = deque()
        flow.woken.append(lane)
        self._activate(flow)

    def _set_timer(self, now: float, host: Host, line: Line) -> None:
        """When time alone may bring room for one more than is promised."""
        at = host.room_at(now, line.n_promised + 1) if line.n_waiting else INFINITY
        if at != host.rings_at:
            host.rings_at = at
            if at < INFINITY:
                self._order += 1
                heappush(self._timers, (at, self._order, host))


def _stand_ready(lane: Lane) -> None:
    lane.state = READY
    lane.flow.ready.append(lane)
