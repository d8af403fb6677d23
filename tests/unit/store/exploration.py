"""Tries every order of events of `protocol`, breadth first, so that what it finds is told by the shortest story."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.unit.store.protocol import Safeguard, State, Worker, seqs, steps

HELP = ("client:", "person:", "sweeper: expires")  # what ends a job from outside


@dataclass(slots=True)
class Explored:
    """`came_from`: the predecessor and the step of each state that can be reached; `before`: all its predecessors by
    steps that are no help from outside; `trace`: the shortest way to the violation.
    """

    came_from: dict[State, tuple[State, str] | None] = field(default_factory=dict)
    before: dict[State, list[State]] = field(default_factory=dict)
    violation: str = ""
    trace: list[str] = field(default_factory=list)


def explore(*, without: frozenset[Safeguard] = frozenset(), broken: str = "") -> Explored:
    """All reachable states, or those up to the first violation. `broken`: only of the promise of that name."""
    explored, start = Explored({State(): None}), State()
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        for label, raw in steps(state, without):
            after = normal(raw)
            wrong = list(_of_step(state, label, raw))
            if after not in explored.came_from:
                explored.came_from[after] = (state, label)
                waiting.append(after)
                wrong += _of_state(raw)
            if found := [what for what in wrong if what.startswith(broken)]:
                explored.violation, explored.trace = found[0], [*_story(explored, state), label]
                return explored
            if not label.startswith(HELP):
                explored.before.setdefault(after, []).append(state)
    return explored


def normal(s: State) -> State:
    """Numbers the seqs that can still be named from 1 on: only their order and sameness matter, so states are few.
    Objects and ended attempts whose seq nobody can name any more are let go: orphans, and no harm. The workers are
    alike, so the one with the greater seq stands first.
    """
    named = seqs(s)
    if s.workers[0].seq < s.workers[1].seq:
        s = s._replace(workers=s.workers[::-1])
    if max(named) == len(named) - 1 and s.objects <= named and s.ended <= named:
        return s
    to = {seq: n for n, seq in enumerate(sorted(named))}
    return s._replace(
        result=to[s.result],
        queued=to[s.queued],
        ready=to[s.ready],
        lease=s.lease and s.lease._replace(seq=to[s.lease.seq]),
        sweeper=to[s.sweeper],
        workers=tuple(worker._replace(seq=to[worker.seq]) for worker in s.workers),
        objects=frozenset(to[seq] for seq in s.objects & named),
        ended=frozenset(to[seq] for seq in s.ended & named),
    )


def stuck(explored: Explored) -> list[State]:
    """States from which no end can be reached unless a person helps: final, told, and no lease left."""
    ends = [s for s in explored.came_from if s.final is not None and s.stamped and s.lease is None]
    reaching, waiting = set(ends), deque(ends)
    while waiting:
        for state in explored.before.get(waiting.popleft(), ()):
            if state not in reaching:
                reaching.add(state)
                waiting.append(state)
    return [state for state in explored.came_from if state not in reaching]


def places(s: State) -> list[str]:
    """Where the job is (ADR-0012)."""
    unpublished = ["unpublished"] if not s.published and s.final is None else []
    return unpublished + [place for place in ("queued", "delayed", "ready", "lease") if getattr(s, place)]


def _of_state(s: State) -> Iterator[str]:
    """What must be true of every committed state."""
    if s.refused:
        yield f"a statement was refused: {s.refused}"
    if s.final is None and len(places(s)) != 1:
        yield f"NFR-3: an unfinished job is in {places(s) or 'no place'}"
    if s.final is not None and places(s) not in ([], ["lease"] if s.final == "cancelled" else []):
        yield f"P2: a {s.final} job is in {places(s)}"
    if s.final == "succeeded" and s.result not in s.objects:
        yield "P3: succeeded, and the object of that attempt is not there"
    if s.told_cancelled and s.final != "cancelled":
        yield f"P7: a cancel was answered, and the job is {s.final or 'unfinished'}"
    if s.events > 1:
        yield "P6: two finish events"
    if s.objects & {s.queued, s.ready}:
        yield "an object has a seq that may be leased again"


def _of_step(before: State, label: str, after: State) -> Iterator[str]:
    """What no step may do."""
    if before.final is not None and after.final != before.final and label != "person: requeues":
        yield f"P2: {before.final} became {after.final}"
    if before.final is not None and after.lease is not None and before.lease is None:
        yield f"P7: a {before.final} job was started"
        if before.workers[_number(label)].was is not None:
            yield "P7: a claim started a job that it saw to be final"
    if label.startswith("sweeper: reports") and before.lease != after.lease:
        if before.lease is None or not before.lease.is_over:
            yield "P4: a lease was swept that is not over"
        elif before.final is None and after.lost != before.lost + 1:
            yield "a lost worker was not counted"
    if label.startswith("worker") and "report" in label and "begins" not in label:
        seq = before.workers[_number(label)].seq
        if (before.lease is None or before.lease.seq != seq) and _rows(before) != _rows(after):
            yield "P4, S9: a late worker changed something"


def _number(label: str) -> int:
    """Which worker a step is of."""
    return int(label.removeprefix("worker ").partition(":")[0])


def _rows(s: State) -> State:
    return s._replace(workers=(Worker(), Worker()))


def _story(explored: Explored, state: State) -> list[str]:
    labels: list[str] = []
    while (came := explored.came_from[state]) is not None:
        state, label = came
        labels.append(label)
    return labels[::-1]
