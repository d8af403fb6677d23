"""Answers that are held: `Prefer: wait`, and `wait` of the feed, through the front (FR-4; RFC 7240)."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from scrapejobs.adapters.bus import Bus
from scrapejobs.gateway.ends import Ends
from scrapejobs.gateway.front import Front
from scrapejobs.gateway.waiting import AWAITED, Awaited, Waits
from tests.integration.factories import Conn, make_job, until
from tests.integration.world import Client, call, make_client
from tests.integration.world import make_job as job_of

pytestmark = pytest.mark.req("FR-4")


class Headers(dict[str, str]):
    """As granian gives them."""

    def get_all(self, name: str) -> list[str]:
        return [self[name]]


@dataclass
class Protocol:
    """The server's side of one request: keeps the answer, knows when its client goes."""

    gone: asyncio.Event = field(default_factory=asyncio.Event)
    answer: tuple[int, bytes] | None = None

    async def client_disconnect(self) -> None:
        await self.gone.wait()

    def response_bytes(self, status: int, _headers: list[tuple[str, str]], content: bytes) -> None:
        self.answer = (status, content)


@dataclass
class Site:
    """An application whose jobs end when `ended` says so."""

    ended: bool = False
    asked: int = 0
    seconds: float = 30.0
    poll_s: float = 30.0
    go: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.go.set()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        self.asked += 1
        self.go.wait(10.0)
        start_response("200 OK", [])
        if not self.ended:
            environ[AWAITED] = Awaited("job:1", self.seconds, self.poll_s)
        return [b"ended" if self.ended else b"not yet"]


def asked(front: Front) -> tuple[Protocol, Awaitable[None]]:
    scope = SimpleNamespace(
        proto="http", http_version="1.1", server="127.0.0.1:1", client="127.0.0.1:2", scheme="http", method="GET",
        path="/jobs/1", query_string="", headers=Headers(),
    )  # fmt: skip
    protocol = Protocol()
    return protocol, asyncio.ensure_future(front.__rsgi__(scope, protocol))


def front_of(site: Site) -> tuple[Front, Waits]:
    waits = Waits()
    return Front(site, threads=2, body_s=5.0, waits=waits), waits


async def test_a_held_answer_comes_when_its_topic_is_told() -> None:
    site = Site()
    front, waits = front_of(site)
    protocol, answered = asked(front)
    await until(lambda: waits.topics == ["job:1"])
    waits.tell(["job:2"])
    assert (site.asked, protocol.answer) == (1, None)
    site.ended = True
    waits.tell(["job:1"])
    await answered
    assert protocol.answer == (200, b"ended")
    assert (site.asked, waits.topics) == (2, [])


async def test_what_was_told_while_the_view_was_reading_is_not_missed() -> None:
    site = Site()
    front, waits = front_of(site)
    site.go.clear()
    protocol, answered = asked(front)
    await until(lambda: site.asked == 1)
    waits.tell(["job:1"])
    site.go.set()
    await until(lambda: site.asked == 2)
    assert protocol.answer is None
    site.ended = True
    waits.tell(["job:1"])
    await answered
    assert protocol.answer == (200, b"ended")


async def test_when_the_time_is_up_the_state_of_then_is_told() -> None:
    front, waits = front_of(Site(seconds=0.05))
    protocol, answered = asked(front)
    await answered
    assert (protocol.answer, waits.topics) == ((200, b"not yet"), [])


async def test_what_nobody_tells_is_found_by_looking() -> None:
    site = Site(poll_s=0.02)
    front, _ = front_of(site)
    protocol, answered = asked(front)
    await until(lambda: site.asked > 2)
    site.ended = True
    await answered
    assert protocol.answer == (200, b"ended")


async def test_a_client_that_goes_frees_its_place() -> None:
    front, waits = front_of(Site())
    protocol, answered = asked(front)
    await until(lambda: waits.topics == ["job:1"])
    protocol.gone.set()
    await answered
    assert waits.topics == []


@pytest.mark.req("P8")
async def test_a_drain_answers_all_at_once_and_holds_nobody_any_more() -> None:
    front, waits = front_of(Site())
    began = time.monotonic()
    held = [asked(front) for _ in range(20)]
    await until(lambda: waits.topics == ["job:1"])
    waits.drain()
    await asyncio.gather(*(answered for _, answered in held), asked(front)[1])
    assert {protocol.answer for protocol, _ in held} == {(200, b"not yet")}
    assert time.monotonic() - began < 10  # of 30 that they asked for


@pytest.mark.req("NFR-10")
async def test_a_thousand_wait_in_the_threads_of_two() -> None:
    site = Site()
    front, waits = front_of(site)
    before = threading.active_count()
    held = [asked(front) for _ in range(1000)]
    await until(lambda: len(waits._waiting["job:1"]) == 1000, within_s=30.0)
    assert threading.active_count() <= before + 2
    site.ended = True
    waits.tell(["job:1"])
    await asyncio.gather(*(answered for _, answered in held))
    assert {protocol.answer for protocol, _ in held} == {(200, b"ended")}


@pytest.mark.parametrize("with_bus", [True, False])
async def test_the_end_of_a_job_reaches_who_waits_by_the_bus_and_without_it(
    conn: Conn, database_url: str, redis_url: str, with_bus: bool
) -> None:
    waits = Waits()
    ends = Ends(waits, database_url=database_url, redis_url=redis_url if with_bus else "redis://127.0.0.1:1/0")
    running = asyncio.create_task(ends.run())
    job = await make_job(conn, status="failed" if not with_bus else "queued")
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(waits.until_told(f"job:{job.id}", since=time.monotonic(), most_s=60.0, or_gone=never))
    if with_bus:
        teller = Bus(redis_url, on_wake=lambda _: None)

        async def told() -> bool:
            await teller.finished({job.id: 1})
            return waiting.done()

        await until(told)
        await teller.aclose()
    await asyncio.wait_for(waiting, timeout=30.0)
    never.cancel()
    running.cancel()
    await asyncio.wait({running})
    await ends.aclose()


@pytest.fixture
def acme(committed: None) -> Client:
    return make_client("acme")


@pytest.mark.parametrize(
    ("prefer", "applied"),
    [
        ("wait=1", "wait=1"),
        ("Wait = 1", "wait=1"),
        ('respond-async, wait="2"; x=y', "wait=2"),
        ("wait=600", "wait=30"),
        ("wait=0", "wait=0"),
        ("wait=-1", None),
        ("wait=1.5", None),
        ("wait", None),
        ("wait=abc", None),
        ("await=3", None),
        ("return=minimal", None),
        ("wait=" + "9" * 400, None),
    ],
)
def test_a_preference_is_applied_up_to_thirty_seconds_and_one_that_cannot_be_read_is_ignored(
    acme: Client, prefer: str, applied: str | None
) -> None:
    """RFC 7240, 2 and 4.3."""
    reply = call("GET", f"/jobs/{job_of(acme)}", key=acme.key, headers={"Prefer": prefer})
    assert (reply.status, reply.headers.get("Preference-Applied")) == (200, applied)
    assert reply.headers["Vary"] == "Prefer"


@pytest.mark.parametrize("query", ["wait=31", "wait=-1", "wait=1.5", "wait=x", "wait="])
def test_a_wait_of_the_feed_that_cannot_be_is_refused(acme: Client, query: str) -> None:
    assert call("GET", f"/events?{query}", key=acme.key).problem == "invalid-request"
