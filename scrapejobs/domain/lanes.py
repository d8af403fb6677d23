"""What the picker remembers: tenants with their flows, lanes of entries, hosts with lines before them.

    Tenant --one per queue--> Flow --in turn--> Lane (queue, tenant, host) --> Host --while crowded--> Line

These classes keep their own books; `picking.Picker` moves lanes between them.
"""

from collections import deque
from collections.abc import Container, Sequence
from dataclasses import dataclass

from scrapejobs.domain.fairness import FairQueue, Turns
from scrapejobs.domain.politeness import INFINITY, Gate


@dataclass(frozen=True, slots=True)
class TenantShare:
    """A tenant's weight against the other tenants, and how many of its jobs may run at once (None: no limit).

    A tenant that shall get nothing has its keys revoked, not a weight of zero: ValueError. (FR-12)
    """

    weight: float = 1.0
    max_running: int | None = None

    def __post_init__(self) -> None:
        if not self.weight > 0:
            raise ValueError(f"weight must be above 0, not {self.weight}")
        if self.max_running is not None and self.max_running < 1:
            raise ValueError(f"max_running must be at least 1 or None, not {self.max_running}")


class Tenant:
    """One tenant: its load, and a flow in each queue in which it has work."""

    __slots__ = ("cost", "flows", "id", "max_running", "running")

    def __init__(self, tenant_id: int, share: TenantShare) -> None:
        self.id = tenant_id
        self.flows: list[Flow | None] = [None, None, None]
        self.running = 0
        self.set_share(share)

    def set_share(self, share: TenantShare) -> None:
        self.cost = 1 / share.weight  # of a turn, in virtual time
        self.max_running: float = INFINITY if share.max_running is None else share.max_running


class Flow:
    """One tenant's work in one queue: the unit of fairness. Its lanes, so its hosts, take turns.

    `ready` lanes found room at their host when last asked. `woken` lanes hold a promise of room at a
    crowded host: it must not lie idle for a whole round of the tenant's hosts, so they get every second turn.
    """

    __slots__ = (
        "is_active",
        "n_lanes",
        "prefer_woken",
        "queue",
        "ready",
        "refunds",
        "tag",
        "tenant",
        "woken",
    )

    def __init__(self, queue: int, tenant: Tenant) -> None:
        self.queue = queue
        self.tenant = tenant
        self.tag = 0.0
        self.ready: deque[Lane] = deque()
        self.woken: deque[Lane] | None = None  # made when first needed: most flows never wait
        self.prefer_woken = True
        self.is_active = False  # stands in its queue
        self.n_lanes = 0  # wherever they are
        self.refunds = 0  # turns had for jobs that never started

    def take_lane(self) -> "Lane | None":
        """Take out the lane whose turn it is."""
        if self.woken and (self.prefer_woken or not self.ready):
            return self.woken.popleft()
        if not self.ready:
            return None
        lane = self.ready.popleft()
        lane.state = EMPTY
        return lane

    def cost(self) -> float:
        """What the turn just had costs in virtual time."""
        if self.refunds:
            self.refunds -= 1
            return 0.0
        return self.tenant.cost


# Where a lane stands for those of its entries to which no room is promised. Plain integers: an Enum's members cost a
# tenth of a pick. While it holds promises it stands among the woken lanes of its flow as well.
EMPTY = 0  # nowhere; without entries it is kept only while its tag at the host still counts
READY = 1  # in its flow
WAITING = 2  # parked: in the line before its host


WIDEST_WINDOW = 1024


LaneKey = tuple[int, int, str]
"""Queue, tenant and host."""


class Lane:
    """The entries of one (queue, tenant, host), first in first out, as two lists (a deque takes ten times as much).

    Only a window of heads is held; behind it, in the database alone, are entries with a seq above `last`. The window
    doubles each time that it is filled again, so a lane that moves fast is not asked for at every turn.
    """

    __slots__ = (
        "flow",
        "has_more",
        "head",
        "host",
        "last",
        "promised_in",
        "promises",
        "state",
        "tag",
        "tail",
        "window",
    )

    def __init__(self, flow: Flow, host: "Host", *, window: int) -> None:
        self.flow = flow
        self.host = host
        self.head: list[int] = []  # next one last
        self.tail: list[int] = []
        self.last = 0  # the greatest seq that has been in the window, but for those that came to the front
        self.has_more = False  # behind the window
        self.window = window
        self.state = EMPTY
        self.tag = 0.0  # in the line before its host
        self.promises = 0  # of room at its host, for so many of its entries; not yet used
        self.promised_in = 0  # before which pick the oldest of them was given

    def __len__(self) -> int:
        return len(self.head) + len(self.tail)

    @property
    def key(self) -> LaneKey:
        return self.flow.queue, self.flow.tenant.id, self.host.key

    @property
    def runs_low(self) -> bool:
        """Whether it is time to read what is behind the window."""
        return self.has_more and len(self) <= self.window // 2

    @property
    def next_window(self) -> int:
        """How many entries to read when it is filled again; more than make it run low."""
        return min(2 * self.window, WIDEST_WINDOW)

    def append(self, seq: int, *, front: bool) -> bool:
        """Takes the entry in, unless its place is behind the window: then False. One with a seq that the window has
        passed already belongs into it: it was committed late.
        """
        if front:
            self.head.append(seq)
            return True
        if seq > self.last:
            if self.has_more or len(self) >= self.window:
                self.has_more = True
                return False
            self.last = seq
        self.tail.append(seq)
        return True

    def extend(self, seqs: Sequence[int], *, has_more: bool) -> None:
        """The next entries from behind the window, in order."""
        self.tail.extend(seqs)
        self.has_more = has_more
        self.window = self.next_window
        if seqs:
            self.last = seqs[-1]

    def remove(self, gone: Container[int]) -> int:
        """Takes these entries out as far as they are here; how many."""
        before = len(self)
        self.head = [seq for seq in self.head if seq not in gone]
        self.tail = [seq for seq in self.tail if seq not in gone]
        return before - len(self)

    def pop(self) -> int:
        if not self.head:
            self.tail.reverse()
            self.head, self.tail = self.tail, self.head
        return self.head.pop()


class Line:
    """The lanes that wait before one crowded host: queues 6:3:1 and tenants by weight, as everywhere."""

    __slots__ = ("n_promised", "n_waiting", "queues", "turns")

    def __init__(self) -> None:
        self.queues: tuple[FairQueue[Lane], ...] = (FairQueue(), FairQueue(), FairQueue())
        self.turns = Turns()
        self.n_waiting = 0
        self.n_promised = 0  # promises of room not yet used

    @property
    def is_crowded(self) -> bool:
        return self.n_waiting > 0 or self.n_promised > 0

    def push(self, lane: Lane) -> None:
        """The lane waits. A queue that had nobody here may be one turn behind the others, not more."""
        queue = lane.flow.queue
        if not self.queues[queue].heap:
            self.turns.join(queue, credit=1)
        self.queues[queue].push(lane)
        lane.state = WAITING
        self.n_waiting += 1

    def pop(self) -> Lane:
        """Take out the lane whose turn it is. It has paid nothing for it yet."""
        queue = self.turns.choose(self.queues)
        if queue is None:
            raise LookupError("nobody waits")
        self.n_waiting -= 1
        lane = self.queues[queue].pop()
        lane.state = EMPTY
        return lane

    def withdraw(self, lane: Lane) -> None:
        """`lane` waits no more, and has nothing to wait for."""
        self.queues[lane.flow.queue].withdraw(lane)
        lane.state = EMPTY
        self.n_waiting -= 1

    def reserve(self, lane: Lane) -> None:
        """The next room is promised to `lane`: it and its queue have had their turn."""
        self.turns.charge(lane.flow.queue)
        lane.tag += lane.flow.tenant.cost
        lane.promises += 1
        self.n_promised += 1

    def release(self, lane: Lane) -> None:
        """All promises of `lane` are void: it could not use them, and gets its turns back."""
        self.turns.refund(lane.flow.queue, lane.promises)
        lane.tag -= lane.promises * lane.flow.tenant.cost
        self.n_promised -= lane.promises
        lane.promises = 0
        if lane.state == WAITING:
            self.queues[lane.flow.queue].sort()

    def redeem(self, lane: Lane) -> None:
        """`lane` has started a job by a promise."""
        lane.promises -= 1
        self.n_promised -= 1


class Host:
    """One host: its gate, the line before it, and when to look at the line again."""

    __slots__ = ("gate", "is_retiring", "key", "line", "n_asking", "n_lanes", "rings_at")

    def __init__(self, key: str, gate: Gate) -> None:
        self.key = key
        self.gate = gate
        self.line: Line | None = None  # made when first needed: most hosts are never crowded
        self.rings_at = INFINITY
        self.n_lanes = 0
        self.n_asking = 0  # attempts that wait for a permit: they go before all jobs
        self.is_retiring = False

    @property
    def is_crowded(self) -> bool:
        return self.line is not None and self.line.is_crowded

    @property
    def is_idle(self) -> bool:
        return self.n_lanes == 0 and self.gate.running == 0 and self.n_asking == 0

    def room(self, now: float) -> float:
        """How many jobs may start now: none while an attempt asks for a permit."""
        return 0 if self.n_asking else self.gate.room(now)

    def room_at(self, now: float, n: int) -> float:
        """When room for `n` jobs may be there by time alone; infinity if only what ends or is permitted brings it."""
        return INFINITY if self.n_asking else self.gate.room_at(now, n)

    def has_room_for(self, now: float, lane: Lane) -> bool:
        """Whether `lane` may start a job now. Room that is promised to others is no room."""
        room = self.room(now)
        if self.line is not None and not lane.promises:
            room -= self.line.n_promised
        return room >= 1
