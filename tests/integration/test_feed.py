"""The feed of finish events: nobody misses one, nobody gets one twice, and all see them in one order (FR-9, P6)."""

import asyncio
import random
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.gateway import cursor
from scrapejobs.store import upkeep
from scrapejobs.store.feed import Place, feed
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.run import run, run_async
from tests.integration import factories
from tests.integration.factories import Conn, make_tenant, rows
from tests.integration.test_courier import Receiver, _receiver, courier
from tests.integration.world import Client, call, make_client, make_job

BEGINNING = Place()


async def page(conn: Conn, after: Place = BEGINNING, *, limit: int = 1000) -> tuple[list[UUID], Place]:
    """The next events' ids, and where they end."""
    found = await run_async(conn, feed(tenant_id=1, after=after, limit=limit))
    return [row["id"] for row in found], Place(found[-1]["xid"], found[-1]["seq"]) if found else after


async def connected(url: str) -> Conn:
    return await AsyncConnection.connect(url, autocommit=True, row_factory=dict_row)


@pytest.mark.req("P6")
@pytest.mark.req("FR-9")
async def test_an_event_that_commits_late_is_not_overtaken(conn: Conn, database_url: str) -> None:
    early, late = new_id(), new_id()
    async with await connected(database_url) as slow:
        async with slow.transaction():
            await factories.make_job(slow, status="failed")
            await run_async(slow, upkeep.finish([late]))  # its number is smaller, and it commits second
            await factories.make_job(conn, status="failed")
            await run_async(conn, upkeep.finish([early]))
            assert await page(conn) == ([], BEGINNING)
        ids, end = await page(conn)
    assert ids == [late, early]
    assert await page(conn, end) == ([], end)


@pytest.mark.req("FR-9")
async def test_a_transaction_of_another_database_holds_nothing_up(conn: Conn, database_url: str) -> None:
    elsewhere = database_url.rpartition("/")[0] + "/postgres"
    async with await connected(elsewhere) as other, other.transaction():
        await other.execute("SELECT pg_current_xact_id()")
        await factories.make_job(conn, status="failed")
        told = new_id()
        await run_async(conn, upkeep.finish([told]))
        assert (await page(conn))[0] == [told]


@pytest.mark.req("P6")
@pytest.mark.req("FR-9")
async def test_readers_see_each_event_once_and_in_one_order_while_many_finish(conn: Conn, database_url: str) -> None:
    dice, n_finishers, n_each = random.Random(6), 6, 25
    going = n_finishers

    async def finishing() -> None:
        nonlocal going
        async with await connected(database_url) as own:
            for _ in range(n_each):
                async with own.transaction():
                    job = await factories.make_job(own, status="failed")
                    await run_async(own, upkeep.finish([new_id()]))
                    for _ in range(dice.randrange(20)):  # held open while others commit
                        await asyncio.sleep(0)
                    assert job
        going -= 1

    async def reading(limit: int) -> list[UUID]:
        seen: list[UUID] = []
        async with await connected(database_url) as own:
            end = BEGINNING
            while True:
                is_last = going == 0
                ids, end = await page(own, end, limit=limit)
                seen += ids
                if is_last and not ids:
                    return seen

    *_, small, large = await asyncio.gather(*(finishing() for _ in range(n_finishers)), reading(3), reading(1000))
    told = {row["id"] for row in await rows(conn, "SELECT id FROM event")}
    assert len(told) == n_finishers * n_each
    assert len(small) == len(told)
    assert set(small) == told
    assert small == large == (await page(conn))[0]


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
async def test_a_receiver_that_was_down_and_the_feed_agree_in_the_end(conn: Conn, link: Link) -> None:
    await make_tenant(conn)
    async for receiver in _receiver():
        receiver.answers["/hook"] = [503] * 5 + [200]
        for _ in range(5):
            await factories.make_job(conn, status="succeeded", callback_url=f"{receiver.url}/hook")
        await run_async(conn, upkeep.finish([new_id() for _ in range(5)]))
        for _ in range(2):
            await _deliver(link, conn)
        told, _ = await page(conn)
        assert len(told) == 5
        assert _received(receiver) == sorted(told)


def _received(receiver: Receiver) -> list[UUID]:
    return sorted({UUID(headers["webhook-id"]) for _, headers, _ in receiver.came[5:]})


async def _deliver(link: Link, conn: Conn) -> None:
    await conn.execute("UPDATE delivery SET next_try_at = clock_timestamp() WHERE state = 'pending'")
    loop = courier(link, at_once=50)
    await loop.tick()
    await loop.drain(grace_s=10.0)


def finished(client: Client, n: int = 1) -> list[str]:
    """Events of that many jobs that ended one after the other."""
    told = []
    for _ in range(n):
        make_job(client, "failed")
        told.append(new_id())
        run(upkeep.finish([told[-1]]))
    return [str(id_) for id_ in told]


def read(client: Client, query: str = "") -> dict[str, Any]:
    reply = call("GET", f"/events{query}", key=client.key)
    assert reply.status == 200, reply.content
    return dict(reply.json)


@pytest.mark.req("FR-9")
def test_pages_follow_each_other_and_the_last_cursor_goes_on(committed: None) -> None:
    acme = make_client("acme")
    told, after, seen = finished(acme, 5), "", []
    for size in (2, 2, 1, 0):
        answer = read(acme, f"?limit=2{after}")
        assert len(answer["items"]) == size
        seen += answer["items"]
        after = f"&after={answer['next_cursor']}"
    assert [item["event_id"] for item in seen] == told
    (later,) = finished(acme)
    assert [item["event_id"] for item in read(acme, f"?limit=2{after}")["items"]] == [later]
    event = seen[0]
    assert set(event) == {"event_id", "id", "status", "finished_at", "links"}
    assert (event["status"], event["links"]["self"]) == ("failed", f"/jobs/{event['id']}")


@pytest.mark.req("NFR-5")
def test_a_tenant_reads_its_own_events_alone_and_no_cursor_of_another(committed: None) -> None:
    acme, other = make_client("acme"), make_client("other")
    finished(acme)
    answer = read(other)
    assert answer["items"] == []
    bound: dict[str, Any] = {"secret": settings.CONFIG.secret_key.get_secret_value()}
    of_a_list = cursor.issue(Place(1, 1).token, tenant_id=other.tenant_id, wanted={}, **bound)
    for bad in (read(acme)["next_cursor"], of_a_list, "x", answer["next_cursor"][:-1] + "A"):
        assert call("GET", f"/events?after={bad}", key=other.key).problem == "invalid-cursor"


@pytest.mark.req("FR-9")
@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "before=1", "after=a&after=b"])
def test_a_wrong_query_of_the_feed_is_refused(committed: None, query: str) -> None:
    assert call("GET", f"/events?{query}", key=make_client("acme").key).problem == "invalid-request"
