"""Where lanes stand: in their flow, in the line before their host, or, when they are empty, nowhere for long."""

from scrapejobs.domain.lanes import EMPTY, READY, WAITING, Lane
from scrapejobs.domain.queues import Queues
from scrapejobs.domain.roster import Roster
from scrapejobs.domain.waiting import WaitingRoom
from scrapejobs.domain.windows import Windows


class Places:
    """Gives lanes their place, takes it from them, and lets go of those that nobody need remember."""

    __slots__ = ("_queues", "_roster", "_windows", "waiting")

    def __init__(self, roster: Roster, queues: Queues, windows: Windows) -> None:
        self._roster = roster
        self._queues = queues
        self._windows = windows
        self.waiting = WaitingRoom(activate=queues.activate, forget=self._drop_lane)

    def stand(self, now: float, lane: Lane) -> None:
        """A lane that holds entries without a promise stands in its flow or in the line before its host."""
        if lane.state == EMPTY and len(lane) > lane.promises:
            if lane.host.is_crowded:
                self.waiting.stand_in_line(now, lane)
            else:
                lane.state = READY
                lane.flow.ready.append(lane)
                self._queues.activate(lane.flow)

    def withdraw(self, now: float, lane: Lane) -> None:
        """The lane has lost entries where it stands: it goes, and what it was promised is for the next in line. With
        those that it has left it stands there again.
        """
        flow, line = lane.flow, lane.host.line
        if lane.state == READY:
            flow.ready.remove(lane)
            lane.state = EMPTY
        elif line is not None and lane.state == WAITING:
            line.withdraw(lane)
        if line is not None and lane.promises and flow.woken:
            flow.woken.remove(lane)
            line.release(lane)
        if lane:
            self.stand(now, lane)
        self._queues.withdraw(flow)
        if not lane:
            self.empty(lane)

    def empty(self, lane: Lane) -> None:
        """The lane has run empty: it is forgotten, at once or when the line has passed its tag, unless there is more
        behind it.
        """
        lane.state = EMPTY
        host, queue = lane.host, lane.flow.queue
        if host.is_crowded and host.line is not None and lane.tag > host.line.queues[queue].clock:
            host.line.queues[queue].rest(lane)
        else:
            self._drop_lane(lane)

    def _drop_lane(self, lane: Lane) -> None:
        if self._roster.drop_lane(lane):
            self._queues.rest(lane.flow)
            self.forget_rested(lane.flow.queue)

    def forget_rested(self, queue: int) -> None:
        """Forget the flows without work whose tag the clock has passed; all when nothing is queued."""
        for flow in self._queues.rested(queue, is_busy=self._windows.is_busy(queue)):
            self._roster.drop_flow(flow)
