"""Lanes longer than their windows, on real Postgres: every entry is dispatched once, in order, also by a new leader."""

from itertools import pairwise

import pytest

from scrapejobs.domain.picking import HostLimits
from scrapejobs.scheduler.term import WINDOW
from tests.integration.factories import Conn, count, make_tenant, make_worker, rows
from tests.integration.schedulers import Scheduler, Schedulers, take_lease_away

UNLIMITED = HostLimits()


async def queue(conn: Conn, n: int, *, host: str = "a.example", tenant: int = 1, front: bool = False) -> None:
    """Entries of one lane, without their jobs: the dispatcher moves entries."""
    await conn.execute(
        "INSERT INTO queued (job_id, priority, tenant_id, host, front)"
        " SELECT gen_random_uuid(), 1, %s, %s, %s FROM generate_series(1, %s)",
        [tenant, host, front, n],
    )


async def drained(conn: Conn, me: Scheduler) -> list[int]:
    """Ticks until nothing is queued; what came to be ready, in its order."""
    moved: list[int] = []
    for _ in range(200):
        await me.tick()
        taken = await rows(conn, "WITH t AS (DELETE FROM ready RETURNING pos, seq) SELECT seq FROM t ORDER BY pos")
        moved += [row["seq"] for row in taken]
        if not await count(conn, "queued"):
            return moved
    raise AssertionError("the queue is stuck")


@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-10")
async def test_a_lane_longer_than_its_window_is_dispatched_whole_and_in_order(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_tenant(conn)
    await make_worker(conn, slots=200)
    me = scheduler(default=UNLIMITED)
    await me.tick()
    await queue(conn, 10 * WINDOW)
    await me.tick()
    await queue(conn, 10 * WINDOW)  # comes while the window is full
    moved = await drained(conn, me)
    assert len(moved) == 20 * WINDOW
    assert all(first < second for first, second in pairwise(moved))


@pytest.mark.req("NFR-3")
async def test_a_new_leader_reads_the_heads_and_then_all_the_rest(conn: Conn, scheduler: Schedulers) -> None:
    await make_tenant(conn)
    await make_worker(conn, slots=100)
    for host in ("a.example", "b.example"):
        await queue(conn, 5 * WINDOW, host=host)
    await queue(conn, 2, host="a.example", front=True)
    (front,) = await rows(conn, "SELECT array_agg(seq ORDER BY seq DESC) AS seqs FROM queued WHERE front")
    me = scheduler(default=UNLIMITED)
    await me.tick()
    first = await rows(conn, "SELECT seq FROM ready WHERE host = 'a.example' ORDER BY pos LIMIT 2")
    assert [row["seq"] for row in first] == front["seqs"]
    await take_lease_away(conn)
    moved = await drained(conn, scheduler(default=UNLIMITED, name="b"))
    assert len(moved) == len(set(moved)) == 10 * WINDOW + 2


@pytest.mark.req("NFR-3")
async def test_entries_cancelled_behind_a_window_are_not_missed(conn: Conn, scheduler: Schedulers) -> None:
    await make_tenant(conn)
    await make_worker(conn, slots=WINDOW)
    await queue(conn, 4 * WINDOW)
    me = scheduler(default=UNLIMITED)
    await me.tick()
    await conn.execute("DELETE FROM queued WHERE seq % 2 = 0")
    left = [row["seq"] for row in await rows(conn, "SELECT seq FROM queued UNION SELECT seq FROM ready ORDER BY 1")]
    assert await drained(conn, me) == left


@pytest.mark.req("NFR-6")
async def test_an_entry_that_comes_to_the_front_while_its_window_is_filled_counts_once(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_tenant(conn)
    await make_worker(conn, slots=10 * WINDOW)
    await queue(conn, 2 * WINDOW)
    me = scheduler(default=HostLimits(concurrency=3 * WINDOW))
    await me.tick()
    await queue(conn, 1, front=True)
    await me.tick()
    assert await count(conn, "ready") == 2 * WINDOW + 1
    await drained(conn, me)
    await queue(conn, 4 * WINDOW)
    for _ in range(4):
        await me.tick()
    assert await count(conn, "ready") == 3 * WINDOW  # as many as the host has slots: none was lost
    await drained(conn, me)
