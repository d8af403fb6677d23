"""A picker that holds only the heads of each lane, beside a queue in a database. (docs/picking.md)"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapejobs.domain.lanes import WIDEST_WINDOW
from scrapejobs.domain.picking import HostLimits, Picker, TenantShare

Key = tuple[int, int, str]
UNLIMITED, EVEN = HostLimits(), TenantShare()
LANE = st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from("ab"))


def picker(window: int, limits: HostLimits = UNLIMITED) -> Picker:
    return Picker(limits_of=lambda _: limits, share_of=lambda _: EVEN, window=window)


class Queue:
    """What the database knows: entries by seq, which are committed, and which of those the picker was told of."""

    def __init__(self, window: int) -> None:
        self.picker = picker(window)
        self.entries: dict[int, tuple[Key, bool]] = {}
        self.open: list[int] = []
        self.untold: list[int] = []
        self.n = 0

    def write(self, lane: Key, *, front: bool = False, commit: bool = True) -> None:
        """A seq is given when the row is written, and seen when that is committed, perhaps much later."""
        self.n += 1
        self.entries[self.n] = (lane, front)
        (self.untold if commit else self.open).append(self.n)

    def commit(self, index: int) -> None:
        if self.open:
            self.untold.append(self.open.pop(index % len(self.open)))

    def cancel(self, index: int) -> None:
        seen = sorted(set(self.entries) - set(self.open))
        if seen:
            del self.entries[seen[index % len(seen)]]

    def forget(self) -> None:
        """The picker lets go of what the database no longer has."""
        for seq, key in list(self.picker.entries()):
            if seq not in self.entries:
                self.picker.forget(0.0, key, {seq})
        assert {seq for seq, _ in self.picker.entries()} <= set(self.entries)

    def look(self, most: int = 99) -> None:
        """What one statement reads in one snapshot: what was appended, and what is behind the windows."""
        wanted = self.picker.wanted(most)
        untold, self.untold = sorted(self.untold), []
        for seq in untold:
            if seq in self.entries:
                (priority, tenant, host), front = self.entries[seq]
                self.picker.add(0.0, seq=seq, priority=priority, tenant=tenant, host=host, front=front)
        for lane in wanted:
            key = (lane.priority, lane.tenant, lane.host)
            behind = [
                seq
                for seq, (other, front) in sorted(self.entries.items())
                if other == key and not front and seq > lane.after and seq not in self.open
            ]
            self.picker.refill(
                0.0,
                priority=lane.priority,
                tenant=lane.tenant,
                host=lane.host,
                seqs=behind[: lane.n],
                has_more=len(behind) > lane.n,
            )

    def dispatch(self, n: int) -> list[int]:
        """The entries that the database still had and that are gone from it now."""
        moved = []
        for seq in self.picker.pick(0.0, n):
            if self.entries.pop(seq, None) is None:
                self.picker.give_back(0.0, seq)
            else:
                self.picker.finish(0.0, seq)
                moved.append(seq)
        return moved

    def drain(self) -> Iterator[int]:
        for _ in range(1000):
            self.look()
            yield from self.dispatch(7)
            if not self.entries and not self.picker.wanted(1) and not self.picker.queued:
                return
        pytest.fail(f"{len(self.entries)} entries are stuck")


STEP = st.one_of(
    st.tuples(st.just("write"), LANE, st.booleans()),
    st.tuples(st.just("front"), LANE),
    st.tuples(st.just("commit"), st.integers(0, 9)),
    st.tuples(st.just("cancel"), st.integers(0, 99)),
    st.tuples(st.just("forget")),
    st.tuples(st.just("look"), st.integers(0, 9)),
    st.tuples(st.just("dispatch"), st.integers(1, 5)),
)


@pytest.mark.req("NFR-3")
@settings(max_examples=200, deadline=None)
@given(window=st.integers(1, 4), steps=st.lists(STEP, max_size=120))
def test_every_entry_is_dispatched_once_however_small_the_window_and_late_its_commit(
    window: int, steps: list[tuple[Any, ...]]
):
    queue, cancelled, moved = Queue(window), 0, []
    for kind, *what in steps:
        if kind == "write":
            queue.write(what[0], commit=what[1])
        elif kind == "front":
            queue.write(what[0], front=True)
        elif kind == "dispatch":
            moved += queue.dispatch(what[0])
        elif kind == "cancel":
            before = len(queue.entries)
            queue.cancel(what[0])
            cancelled += before - len(queue.entries)
        else:
            getattr(queue, kind)(*what)
    while queue.open:
        queue.commit(0)
    moved += queue.drain()
    assert len(moved) == len(set(moved)) == queue.n - cancelled


@pytest.mark.req("NFR-3")
def test_an_entry_committed_late_is_taken_into_the_window_that_has_passed_it():
    queue = Queue(window=2)
    queue.write((1, 1, "a"), commit=False)
    for _ in range(3):
        queue.write((1, 1, "a"))  # 4 is behind the window
    queue.look()
    queue.commit(0)
    queue.look()
    assert sorted(queue.drain()) == [1, 2, 3, 4]


@pytest.mark.req("NFR-5")
@settings(max_examples=100, deadline=None)
@given(lanes=st.lists(LANE, min_size=1, max_size=200), size=st.integers(2, 9))
def test_with_windows_the_order_is_that_of_a_picker_that_holds_everything(lanes: list[Key], size: int):
    queue, whole = Queue(window=2 * size), picker(window=10**9)
    for seq, (priority, tenant, host) in enumerate(lanes, start=1):
        queue.write((priority, tenant, host))
        whole.add(0.0, seq=seq, priority=priority, tenant=tenant, host=host)
    while queue.entries:
        queue.look()
        moved, expected = queue.dispatch(size), whole.pick(0.0, size)
        assert moved == expected
        for seq in expected:
            whole.finish(0.0, seq)


@pytest.mark.req("NFR-10")
def test_a_lane_of_a_million_entries_holds_its_window_and_no_more():
    one = picker(window=64)
    for seq in range(1, 1_000_001):
        one.add(0.0, seq=seq, priority=1, tenant=1, host="a")
    assert one.queued == 64
    for _ in range(12):  # far beyond the widest window
        while not one.wanted(1):
            assert one.pick(0.0, 1)
        (lane,) = one.wanted(1)
        seqs = range(lane.after + 1, lane.after + 1 + lane.n)
        one.refill(0.0, priority=1, tenant=1, host="a", seqs=seqs, has_more=True)
        assert one.queued <= WIDEST_WINDOW + WIDEST_WINDOW // 2


@pytest.mark.req("NFR-5")
def test_while_a_lane_waits_to_be_filled_again_nobodys_debt_is_forgotten():
    """Tenant 2 weighs a tenth: after one job it is ten turns behind, also when no entry is held for a moment."""
    shares = {1: EVEN, 2: TenantShare(0.1)}
    one = Picker(limits_of=lambda _: UNLIMITED, share_of=shares.__getitem__, window=1)
    for seq, tenant in ((1, 1), (2, 1), (3, 2)):
        one.add(0.0, seq=seq, priority=1, tenant=tenant, host="a")
    assert one.pick(0.0, 9) == [1, 3]
    assert [(lane.tenant, lane.after) for lane in one.wanted(9)] == [(1, 1)]
    one.add(0.0, seq=4, priority=1, tenant=2, host="a")
    one.refill(0.0, priority=1, tenant=1, host="a", seqs=[2], has_more=False)
    assert one.pick(0.0, 9) == [2, 4]


@pytest.mark.req("NFR-3")
def test_a_window_whose_entries_were_all_cancelled_is_filled_again():
    queue = Queue(window=4)
    for _ in range(7):
        queue.write((1, 1, "a"))
    queue.look()
    for _ in range(4):
        queue.cancel(0)
    queue.forget()
    assert queue.picker.queued == 0
    assert list(queue.drain()) == [5, 6, 7]
