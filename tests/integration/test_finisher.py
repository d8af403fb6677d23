"""The outbox at the other end: one finish event for each final job."""

import pytest
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.adapters.bus import Bus
from scrapejobs.outbox.finisher import Finisher
from scrapejobs.store import upkeep
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.run import run_async
from tests.integration.factories import Conn, count, make_job, rows


@pytest.mark.req("FR-9")
@pytest.mark.req("P6")
async def test_each_final_job_gets_one_event_and_a_delivery_if_it_has_a_callback(
    conn: Conn, link: Link, bus: Bus
) -> None:
    ends = {
        (await make_job(conn, status=status, callback_url=url)).id: (status, url)
        for status in ("succeeded", "failed", "cancelled")
        for url in ("https://hook.example/", None)
    }
    await make_job(conn)
    await make_job(conn, status="running")
    loop = Finisher(link, bus, poll_s=5.0)
    await loop.tick()
    await loop.tick()
    told = await rows(conn, "SELECT id, job_id, status, tenant_id FROM event")
    assert {row["job_id"]: row["status"] for row in told} == {job_id: status for job_id, (status, _) in ends.items()}
    assert len(told) == len(ends)
    asked = await rows(conn, "SELECT event_id, job_id, url, state, tries FROM delivery")
    assert {row["job_id"] for row in asked} == {job_id for job_id, (_, url) in ends.items() if url}
    assert {row["event_id"] for row in asked} < {row["id"] for row in told}
    assert {(row["url"], row["state"], row["tries"]) for row in asked} == {("https://hook.example/", "pending", 0)}


@pytest.mark.req("P6")
@pytest.mark.req("NFR-4")
async def test_two_finishers_at_once_write_each_event_once(conn: Conn, link: Link, bus: Bus, database_url: str) -> None:
    for _ in range(6):
        await make_job(conn, status="succeeded", callback_url="https://hook.example/")
    async with (
        await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as other,
        other.transaction(),
    ):
        assert len(await run_async(other, upkeep.finish([new_id() for _ in range(4)]))) == 4
        await Finisher(link, bus, poll_s=5.0).tick()
        assert await count(conn, "event") == 2
    await Finisher(link, bus, poll_s=5.0).tick()
    assert len({row["job_id"] for row in await rows(conn, "SELECT job_id FROM event")}) == 6
    assert await count(conn, "event") == await count(conn, "delivery") == 6
