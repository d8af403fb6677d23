"""What the dispatcher tells about hosts without room: true within a second, and taken back."""

import math
from typing import Any

import pytest

from scrapejobs.domain.picking import HostLimits
from scrapejobs.store import dispatch
from scrapejobs.store.run import run_async
from tests.integration.factories import STORED, Conn, make_job, make_worker, rows
from tests.integration.schedulers import Schedulers, claim, end


async def told(conn: Conn) -> dict[str, float | None]:
    """Hosts, and in how many seconds they may have room."""
    found: list[dict[str, Any]] = await rows(
        conn, "SELECT host, extract(epoch FROM until - clock_timestamp())::float8 AS in_s FROM crowded"
    )
    return {row["host"]: row["in_s"] for row in found}


@pytest.mark.case("S22")
@pytest.mark.req("FR-4")
async def test_a_host_without_a_free_slot_is_told_and_taken_back_within_a_second(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    for _ in range(2):
        await make_job(conn, host="slow.example")
    await make_job(conn, host="free.example")
    me = scheduler(default=HostLimits(concurrency=1))
    await me.tick()
    assert await told(conn) == {"slow.example": None}
    for row in await claim(conn, 9):
        await end(conn, row, STORED)
    await me.tick(after_s=1.0)
    assert await told(conn) == {}


@pytest.mark.case("S22")
@pytest.mark.req("FR-4")
async def test_a_host_at_its_rate_is_told_with_the_time_of_its_next_start(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    for _ in range(2):
        await make_job(conn)
    await scheduler(default=HostLimits(rate=0.01, burst=1.0)).tick()  # a new leader's bucket is empty
    (in_s,) = (await told(conn)).values()
    assert in_s == pytest.approx(100, abs=10)


@pytest.mark.req("FR-4")
async def test_a_new_dispatcher_takes_back_what_the_former_one_told(conn: Conn, scheduler: Schedulers) -> None:
    await conn.execute("INSERT INTO crowded (host) VALUES ('old.example')")
    await scheduler().tick()
    assert await told(conn) == {}


@pytest.mark.req("FR-4")
async def test_a_dispatcher_whose_epoch_is_over_tells_nothing(conn: Conn) -> None:
    await conn.execute("INSERT INTO crowded (host) VALUES ('told.example')")
    await run_async(conn, dispatch.tell_crowded([("late.example", math.inf)], now=0.0, epoch=99))
    assert await told(conn) == {"told.example": None}
