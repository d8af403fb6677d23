"""Finish events on their way to real receivers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any, Self

import msgspec
import pytest
from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError

from scrapejobs.adapters.webhook_client import WebhookClient
from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.outbox.courier import Courier, Hands
from scrapejobs.store import endpoints, upkeep
from scrapejobs.store.deliveries import Try, claim_deliveries, note_delivery, redeliver, redeliver_all
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


BODY = "from-inside-the-receivers-network"


class Odd:
    """A receiver that answers each path in its own bad way, byte by byte."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.sent = 0
        self._let_go = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._let_go.set()
        self._server.close()
        await self._server.wait_closed()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await self._answer(await reader.readuntil(b"\r\n\r\n"), writer)
        writer.close()

    async def _answer(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        path = head.split(b" ")[1].decode()
        self.paths.append(path)
        match path:
            case "/late":
                await self._let_go.wait()
            case "/close":
                return
            case "/huge":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n")
                for _ in range(1000):
                    writer.write(b"x" * 10_000)
                    await writer.drain()
                    self.sent += 10_000
            case "/busy":
                writer.write(b"HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n")
            case "/home":
                writer.write(f"HTTP/1.1 302 Found\r\nLocation: {self.url}/\r\nContent-Length: 0\r\n\r\n".encode())
            case _:
                writer.write(
                    f"HTTP/1.1 {path[1:]} No\r\nLocation: /x\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}".encode()
                )
        await writer.drain()


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


def courier(
    link: Link, *, at_once: int = 10, allow: tuple[Any, ...] = LOOPBACK, ring: Ring = NO_KEYS, timeout_s: float = 5.0
) -> Courier:
    client = WebhookClient(
        EgressPolicy(allow=allow, deny=()),
        dns_timeout_s=1.0,
        timeout_s=timeout_s,
        user_agent="test",
    )
    hands = Hands(at_once, timeout_s, off_after_s=5 * 86_400.0)
    return Courier(link, client.post, ring, hands=hands, poll_s=5.0, signal=lambda _: None)


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
        log = "SELECT 1 FROM delivery_try WHERE event_id = %s AND number = %s AND duration_s IS NOT NULL"
        return bool(await rows(conn, log, event_id, tries))

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
    await conn.execute("UPDATE delivery SET tries = 9")  # of ten
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
        assert (await settled(conn, event_id, tries=2))["state"] == "delivered"
    assert {headers["webhook-id"] for _, headers, _ in receiver.came} == {str(event_id)}
    log = await rows(conn, "SELECT number, status, error FROM delivery_try ORDER BY number")
    assert [(row["number"], row["status"], row["error"]) for row in log] == [
        (1, None, "courier_stopped"),
        (2, 200, None),
    ]


async def log_of(conn: Conn) -> list[tuple[Any, ...]]:
    """Number, status and error of each try."""
    found = await rows(conn, "SELECT number, status, error FROM delivery_try ORDER BY event_id, number")
    return [tuple(row.values()) for row in found]


async def endpoint(conn: Conn) -> dict[str, Any] | None:
    found = await rows(conn, "SELECT reason, off_at IS NOT NULL AS is_off, failures FROM endpoint")
    return found[0] if found else None


async def tried(loop: Courier) -> None:
    """One pass, and its posts to their end."""
    await loop.tick()
    await loop.drain(grace_s=10.0)
    loop.draining = False


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
@pytest.mark.case("target-54")
@pytest.mark.parametrize(
    "case",
    [
        ("/late", "pending", None, "timeout"),  # 200, but after the time-out: nobody waits for it
        ("/302", "pending", 302, None),
        ("/home", "pending", 302, None),  # to 127.0.0.1, where this very receiver is
        ("/410", "given_up", 410, None),
        ("/500", "pending", 500, None),
        ("/close", "pending", None, "disconnected"),
        ("/huge", "delivered", 200, None),
    ],
)
async def test_how_a_receiver_answers_decides_its_delivery_and_never_its_job(
    conn: Conn, link: Link, tenant: dict[str, Any], case: tuple[str, str, int | None, str | None]
) -> None:
    path, state, status, error = case
    async with Odd() as odd:
        job_id, event_id = await finished(conn, f"{odd.url}{path}")
        await tried(courier(link, timeout_s=0.5))
        row = await settled(conn, event_id)
        assert (row["state"], row["last_status"], row["last_error"]) == (state, status, error)
        assert await log_of(conn) == [(1, status, error)]
        assert odd.paths == [path]
        assert odd.sent < 5_000_000  # of 10 MB: no more than the sockets take in
    assert (await one(conn, "SELECT final_state FROM job WHERE id = %s", job_id))["final_state"] == "succeeded"
    kept = await rows(conn, "SELECT (d.*)::text AS d, (t.*)::text AS t FROM delivery d, delivery_try t")
    assert BODY not in str(kept)


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
async def test_a_410_switches_the_endpoint_off_until_an_event_that_is_sent_by_hand_arrives(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    receiver.answers["/hook"] = [410, 200]
    first_job, first = await finished(conn, f"{receiver.url}/hook?job=1")
    loop = courier(link)
    await tried(loop)
    assert await endpoint(conn) == {"reason": "gone", "is_off": True, "failures": 1}
    _, second = await finished(conn, f"{receiver.url}/hook?job=2")  # the query is not the endpoint's
    _, elsewhere = await finished(conn, f"{receiver.url}/other")
    await tried(loop)
    assert (await settled(conn, second))["last_error"] == "endpoint_off"
    assert (await settled(conn, elsewhere))["state"] == "delivered"
    assert [path for path, _, _ in receiver.came] == ["/hook", "/other"]
    assert await run_async(conn, redeliver(first_job, tenant_id=1)) == "sent"
    await tried(loop)
    assert (await settled(conn, first, tries=2))["state"] == "delivered"
    assert await endpoint(conn) is None
    assert await run_async(conn, redeliver_all([second])) == [second]
    await tried(loop)
    assert (await settled(conn, second, tries=2))["state"] == "delivered"


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
async def test_an_endpoint_that_failed_for_days_is_switched_off_and_a_person_switches_it_on(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    receiver.answers["/hook"] = [500]
    loop = courier(link)
    for n in range(1, 11):
        await finished(conn, f"{receiver.url}/hook")
        await tried(loop)
        assert await endpoint(conn) == {"reason": None, "is_off": False, "failures": n}
    await conn.execute("UPDATE endpoint SET failing_since = failing_since - interval '5 days', failures = 8")
    await finished(conn, f"{receiver.url}/hook")
    await tried(loop)
    assert await endpoint(conn) == {"reason": None, "is_off": False, "failures": 9}  # too few to say so
    await finished(conn, f"{receiver.url}/hook")
    await tried(loop)
    assert await endpoint(conn) == {"reason": "failing", "is_off": True, "failures": 10}
    ids = [row["id"] for row in await rows(conn, "SELECT id FROM endpoint")]
    assert await run_async(conn, endpoints.switch_on(ids)) == 1
    receiver.answers["/hook"] = [200]
    _, last = await finished(conn, f"{receiver.url}/hook")
    await tried(loop)
    assert (await settled(conn, last))["state"] == "delivered"


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
async def test_a_redelivery_has_the_same_id_a_fresh_signature_and_the_whole_schedule_before_it(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    receiver.answers["/hook"] = [200, 500]
    job_id, event_id = await finished(conn, f"{receiver.url}/hook")
    loop = courier(link)
    await tried(loop)
    await conn.execute("UPDATE delivery SET tries = 9, uncharged = 0")  # of ten
    rotated = "whsec_" + "bmV3IHNlY3JldCE="
    await conn.execute("UPDATE tenant SET webhook_secret = %s", [rotated])
    await run_async(conn, redeliver(job_id, tenant_id=1))
    await tried(loop)
    (_, first, _), (_, second, body) = receiver.came
    assert first["webhook-id"] == second["webhook-id"] == str(event_id)
    Webhook(rotated).verify(body, {name.lower(): value for name, value in second.items()})
    wait = await one(conn, "SELECT extract(epoch FROM next_try_at - clock_timestamp())::float8 AS s FROM delivery")
    assert 4 < wait["s"] <= 5  # as after the first try


@pytest.mark.req("FR-9")
async def test_while_a_secret_is_rotated_both_sign_and_then_the_new_one_alone(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    new = "whsec_" + "bmV3IHNlY3JldCE="
    await conn.execute(
        "UPDATE tenant SET webhook_secret_old = webhook_secret, webhook_secret = %s,"
        " webhook_secret_old_until = clock_timestamp() + interval '1 hour'",
        [new],
    )
    loop = courier(link)
    await finished(conn, f"{receiver.url}/hook")
    await tried(loop)
    _, headers, body = receiver.came[0]
    for secret in (new, tenant["webhook_secret"]):
        Webhook(secret).verify(body, {name.lower(): value for name, value in headers.items()})
    await conn.execute("UPDATE tenant SET webhook_secret_old_until = clock_timestamp()")
    await finished(conn, f"{receiver.url}/hook")
    await tried(loop)
    _, headers, body = receiver.came[1]
    Webhook(new).verify(body, {name.lower(): value for name, value in headers.items()})
    with pytest.raises(WebhookVerificationError):
        Webhook(tenant["webhook_secret"]).verify(body, {name.lower(): value for name, value in headers.items()})


@pytest.mark.req("FR-9")
@pytest.mark.req("NFR-6")
async def test_a_receivers_retry_after_is_obeyed(conn: Conn, link: Link, tenant: dict[str, Any]) -> None:
    async with Odd() as odd:
        _, event_id = await finished(conn, f"{odd.url}/busy")
        await tried(courier(link))
        await settled(conn, event_id)
    wait = await one(conn, "SELECT extract(epoch FROM next_try_at - clock_timestamp())::float8 AS s FROM delivery")
    assert 110 < wait["s"] <= 120  # it asked for 120 s; the schedule says 5


@pytest.mark.req("FR-9")
@pytest.mark.req("P8")
async def test_what_is_claimed_while_a_courier_drains_is_posted_or_given_back_at_once(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    _, event_id = await finished(conn, f"{receiver.url}/hang")
    loop = courier(link)
    async with conn.transaction():
        await conn.execute("LOCK TABLE delivery_try IN ACCESS EXCLUSIVE MODE")  # the claim is in flight
        tick = asyncio.create_task(loop.tick())

        async def waits() -> bool:
            return bool(await rows(conn, "SELECT 1 FROM pg_locks WHERE NOT granted"))

        await until(waits)
        drain = asyncio.create_task(loop.drain(grace_s=1.0))
        await asyncio.sleep(0)
    await asyncio.gather(tick, drain)
    row = await one(
        conn, "SELECT state, tries - uncharged AS charged, next_try_at <= clock_timestamp() AS is_due FROM delivery"
    )
    assert row == {"state": "pending", "charged": 0, "is_due": True}
    assert await log_of(conn) == [(1, None, "courier_stopped")]
    second = courier(link)
    receiver.let_go.set()
    await tried(second)
    assert (await settled(conn, event_id, tries=2))["state"] == "delivered"


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
async def test_a_try_whose_courier_was_killed_after_the_post_is_in_the_log_and_made_again(
    conn: Conn, link: Link, receiver: Receiver, tenant: dict[str, Any]
) -> None:
    _, event_id = await finished(conn, f"{receiver.url}/hook")
    claimed = await run_async(conn, claim_deliveries(limit=10, claim_s=20.0, per_origin=2))
    assert [row["event_id"] for row in claimed] == [event_id]  # and then its courier died
    await tried(courier(link))
    assert receiver.came == []
    await conn.execute("UPDATE delivery SET next_try_at = clock_timestamp()")  # its claim has ended
    await tried(courier(link))
    assert (await settled(conn, event_id, tries=2))["state"] == "delivered"
    assert await log_of(conn) == [(1, None, None), (2, 200, None)]


@pytest.mark.req("FR-9")
async def test_a_late_success_counts_and_a_late_failure_does_not(conn: Conn, tenant: dict[str, Any]) -> None:
    _, event_id = await finished(conn, "https://me.example/hook")
    for _ in range(2):
        await run_async(conn, claim_deliveries(limit=10, claim_s=0.0, per_origin=2))
    late = Try("pending", 1.0, status=500, delay_s=5.0)
    assert not await run_async(conn, note_delivery(event_id, number=1, ended=late, endpoint=None))
    assert await log_of(conn) == [(1, 500, None), (2, None, None)]
    done = Try("delivered", 1.0, status=200)
    assert await run_async(conn, note_delivery(event_id, number=1, ended=done, endpoint=None))
    assert (await one(conn, "SELECT state FROM delivery"))["state"] == "delivered"
