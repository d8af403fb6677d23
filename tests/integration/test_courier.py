"""Finish events on their way to real receivers."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

import msgspec
import pytest
from aiohttp import web
from standardwebhooks import Webhook

from scrapejobs.adapters.webhook_client import WebhookClient
from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.outbox.courier import Courier
from scrapejobs.store import upkeep
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.run import run_async
from scrapejobs.store.sealing import NO_KEYS, Ring
from tests.integration.factories import Conn, make_job, make_tenant, one, rows, until

LOOPBACK = (ip_network("127.0.0.0/8"),)


@dataclass
class Receiver:
    """Answers each path as told, and keeps what came."""

    url: str = ""
    answers: dict[str, list[int]] = field(default_factory=dict)
    came: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    hanging: int = 0
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.Response:
        self.came.append((request.path, dict(request.headers), await request.read()))
        if request.path == "/hang":
            self.hanging += 1
            await self.let_go.wait()
        answers = self.answers.get(request.path, [200])
        status = answers.pop(0) if len(answers) > 1 else answers[0]
        return web.Response(status=status, headers={"Location": "/elsewhere"} if status == 302 else None)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async for one_ in _receiver():
        yield one_


async def _receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", receiver.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield receiver
    receiver.let_go.set()
    await runner.cleanup()


def courier(link: Link, *, at_once: int = 10, allow: tuple[Any, ...] = LOOPBACK, ring: Ring = NO_KEYS) -> Courier:
    client = WebhookClient(
        EgressPolicy(allow=allow, deny=()),
        dns_timeout_s=1.0,
        timeout_s=5.0,
        user_agent="test",
    )
    return Courier(link, client.post, ring, at_once=at_once, timeout_s=5.0, poll_s=5.0, signal=lambda _: None)


async def finished(conn: Conn, url: str, *, status: str = "succeeded") -> Any:
    """A final job whose event is written."""
    job = await make_job(conn, status=status, callback_url=url)
    event_id = new_id()
    await run_async(conn, upkeep.finish([event_id]))
    return job.id, event_id


async def settled(conn: Conn, event_id: Any, *, tries: int = 1) -> dict[str, Any]:
    """The delivery once it has had so many tries."""
    query = "SELECT state, tries, last_status, last_error, next_try_at FROM delivery WHERE event_id = %s"

    async def tried() -> bool:
        return bool((await one(conn, query, event_id))["tries"] == tries)

    await until(tried)
    return await one(conn, query, event_id)


@pytest.fixture
async def tenant(conn: Conn) -> dict[str, Any]:
    await make_tenant(conn)
    return await one(conn, "SELECT webhook_secret FROM tenant WHERE id = 1")


@pytest.mark.req("FR-9")
async def test_an_event_is_delivered_once_with_a_signature_that_verifies(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    job_id, event_id = await finished(conn, f"{receiver.url}/hook")
    loop = courier(link)
    await loop.tick()
    row = await settled(conn, event_id)
    assert (row["state"], row["last_status"]) == ("delivered", 200)
    await loop.tick()
    ((_, headers, body),) = receiver.came
    Webhook(tenant["webhook_secret"]).verify(body, {name.lower(): value for name, value in headers.items()})
    assert headers["webhook-id"] == str(event_id)
    told = msgspec.json.decode(body)
    assert (told["id"], told["status"]) == (str(job_id), "succeeded")
    assert told["links"]["self"] == f"/jobs/{job_id}"
    assert set(told) == {"id", "status", "finished_at", "links"}


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
@pytest.mark.case("target-54")
async def test_after_a_500_the_same_event_is_sent_again_when_its_time_comes(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    receiver.answers["/hook"] = [500, 200]
    _, event_id = await finished(conn, f"{receiver.url}/hook")
    loop = courier(link)
    await loop.tick()
    row = await settled(conn, event_id)
    assert (row["state"], row["last_status"]) == ("pending", 500)
    wait = await one(conn, "SELECT extract(epoch FROM next_try_at - clock_timestamp())::float8 AS s FROM delivery")
    assert 4 < wait["s"] <= 5  # api.md: the second try after about 5 s
    await loop.tick()
    assert len(receiver.came) == 1
    await conn.execute("UPDATE delivery SET next_try_at = clock_timestamp()")
    await loop.tick()
    assert (await settled(conn, event_id, tries=2))["state"] == "delivered"
    assert [headers["webhook-id"] for _, headers, _ in receiver.came] == [str(event_id)] * 2


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
async def test_after_the_last_try_a_delivery_is_given_up(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    receiver.answers["/hook"] = [503]
    _, event_id = await finished(conn, f"{receiver.url}/hook")
    await conn.execute("UPDATE delivery SET tries = 9")
    await courier(link).tick()
    row = await settled(conn, event_id, tries=10)
    assert (row["state"], row["next_try_at"]) == ("given_up", None)


@pytest.mark.req("FR-9")
@pytest.mark.case("S5")
async def test_a_receiver_that_hangs_does_not_hold_the_others(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    async for second in _receiver():
        for _ in range(20):
            await finished(conn, f"{receiver.url}/hang")
        _, event_id = await finished(conn, f"{second.url}/hook")
        loop = courier(link, at_once=10)
        await loop.tick()
        assert (await settled(conn, event_id))["state"] == "delivered"
        await until(lambda: receiver.hanging == 2)
        await loop.tick()
        _, later = await finished(conn, f"{second.url}/hook")
        await loop.tick()
        assert (await settled(conn, later))["state"] == "delivered"
        assert receiver.hanging == 2  # its share of ten hands
        await loop.drain(grace_s=0.0)


@pytest.mark.req("NFR-11")
@pytest.mark.case("target-54")
async def test_a_redirect_is_a_failure_and_not_followed(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    receiver.answers["/hook"] = [302]
    _, event_id = await finished(conn, f"{receiver.url}/hook")
    await courier(link).tick()
    row = await settled(conn, event_id)
    assert (row["state"], row["last_status"]) == ("pending", 302)
    assert [path for path, _, _ in receiver.came] == ["/hook"]


@pytest.mark.req("NFR-11")
async def test_an_address_that_may_not_be_reached_is_not_called(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    _, event_id = await finished(conn, f"{receiver.url}/hook")
    await courier(link, allow=()).tick()
    row = await settled(conn, event_id)
    assert (row["state"], row["last_status"], row["last_error"]) == ("pending", None, "blocked_address")
    assert receiver.came == []


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
async def test_of_two_couriers_one_delivers_and_what_a_dead_one_claimed_comes_back(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any], database_url: str
) -> None:
    _, event_id = await finished(conn, f"{receiver.url}/hang")
    first = courier(link)
    await first.tick()
    await until(lambda: receiver.hanging == 1)
    async with Link(database_url) as other:
        second = courier(other)
        await second.tick()
        assert receiver.hanging == 1
        await first.drain(grace_s=0.0)  # killed between the post and its note
        await conn.execute("UPDATE delivery SET next_try_at = clock_timestamp()")
        receiver.let_go.set()
        await second.tick()
        assert (await settled(conn, event_id))["state"] == "delivered"
    assert {headers["webhook-id"] for _, headers, _ in receiver.came} == {str(event_id)}
    assert await rows(conn, "SELECT tries FROM delivery") == [{"tries": 1}]
