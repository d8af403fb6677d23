"""robots.txt (RFC 9309): read once for all, obeyed at every hop, and a request like any other to the host's limits."""

import asyncio
import gzip
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.core.management import call_command

from scrapejobs.adapters.fetcher import Fetched, Fetcher, FetchLimits, FetchRequest
from scrapejobs.adapters.robots import DENIED_S, MAX_BYTES, Robots
from scrapejobs.adapters.robots_cache import PREFIX, RobotsCache
from scrapejobs.domain.outcome import Permanent, Temporary
from scrapejobs.store.models import Job
from tests.integration.factories import until
from tests.integration.fetching import LOOPBACK, hang, lookup, redirect
from tests.integration.raw_target import Answer, RawTarget, Request, raw_target, response
from tests.integration.world import make_client, post_job

pytestmark = pytest.mark.req("NFR-6")

RULES = b"User-agent: *\nDisallow: /private\nAllow: /private/open\n\nUser-agent: acme\nDisallow: /\n"


@pytest.fixture
async def target() -> AsyncIterator[RawTarget]:
    async with raw_target() as running:
        running.answers |= {path: response(b"page") for path in ("/", "/private", "/private/open")}
        yield running


@pytest.fixture
async def cache(redis_url: str) -> AsyncIterator[RobotsCache]:
    cache = RobotsCache(redis_url)
    await cache._client.flushdb()
    yield cache
    await cache.aclose()


def fetcher(cache: RobotsCache, *, keep_s: float = 60.0) -> Fetcher:
    limits = FetchLimits(policy=LOOPBACK, user_agent="scrapejobs/0.1")
    return Fetcher(limits, lookup=lookup, robots=Robots(cache, keep_s=keep_s))


async def end_of(fetcher: Fetcher, url: str, **asked: Any) -> str:
    """`ok`, or the code of the failure."""
    outcome = await fetcher.fetch(FetchRequest(url, robots=True, **{"timeout_s": 10.0, **asked}))
    if isinstance(outcome, Fetched):
        outcome.body.close()
        return "ok"
    return outcome.code


def paths(target: RawTarget) -> list[str]:
    return [request.path for request in target.requests]


@pytest.mark.parametrize(
    ("path", "headers", "end"),
    [
        ("/", {}, "ok"),
        ("/private", {}, "robots_denied"),
        ("/private?x=1", {}, "robots_denied"),
        ("/private/open", {}, "ok"),
        ("/", {"User-Agent": "Acme/2.0"}, "robots_denied"),
        ("/robots.txt", {"User-Agent": "acme"}, "ok"),
    ],
)
async def test_the_rules_of_a_file_that_is_there_are_obeyed(
    cache: RobotsCache, target: RawTarget, path: str, headers: dict[str, str], end: str
) -> None:
    target.answers["/robots.txt"] = response(RULES)
    assert await end_of(fetcher(cache), target.url(path), headers=headers) == end
    asked_for_pages = [asked for asked in paths(target) if asked != "/robots.txt"]
    assert asked_for_pages == ([path] if end == "ok" and path != "/robots.txt" else [])


async def test_a_denial_is_permanent_and_tells_how_many_requests_were_made(
    cache: RobotsCache, target: RawTarget
) -> None:
    target.answers["/robots.txt"] = response(RULES)
    outcome = await fetcher(cache).fetch(FetchRequest(target.url("/private"), robots=True))
    assert isinstance(outcome, Permanent)
    assert outcome.exchange is not None
    assert outcome.exchange.wire_requests == 1


async def test_nobody_is_asked_when_robots_is_off(cache: RobotsCache, target: RawTarget) -> None:
    target.answers["/robots.txt"] = response(RULES)
    outcome = await fetcher(cache).fetch(FetchRequest(target.url("/private")))
    assert isinstance(outcome, Fetched)
    outcome.body.close()
    assert paths(target) == ["/private"]


@pytest.mark.parametrize(
    ("status", "end"),
    [
        ("404 Not Found", "ok"),
        ("403 Forbidden", "ok"),
        ("410 Gone", "ok"),
        ("401 Unauthorized", "ok"),
        ("500 Oops", "robots_denied"),
        ("503 Service Unavailable", "robots_denied"),
        ("501 Not Implemented", "robots_denied"),
        ("429 Too Many Requests", "http_429"),
        ("204 No Content", "ok"),
    ],
)
async def test_a_file_that_is_not_there_allows_and_one_that_fails_denies(
    cache: RobotsCache, target: RawTarget, status: str, end: str
) -> None:
    target.answers["/robots.txt"] = (
        response(status=status) if "204" not in status else b"HTTP/1.1 204 No Content\r\n\r\n"
    )
    assert await end_of(fetcher(cache), target.url("/")) == end
    assert ("/" in paths(target)) == (end == "ok")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><title>Not here</title>",
        os.urandom(2000),
        b"\xef\xbb\xbfUser-agent: other\nDisallow: /",
        b"User-agent: *\nDisallow:\n",
        b"User-agent: *\nCrawl-delay: 3600\n",
        b"\x00" * 1000,
    ],
)  # fmt: skip
async def test_what_says_nothing_allows_everything(cache: RobotsCache, target: RawTarget, body: bytes) -> None:
    target.answers["/robots.txt"] = response(body)
    assert await end_of(fetcher(cache), target.url("/private")) == "ok"


async def test_a_byte_order_mark_and_a_coding_hide_no_rule(cache: RobotsCache, target: RawTarget) -> None:
    packed = gzip.compress(b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /private\r\n")
    target.answers["/robots.txt"] = response(packed, headers="Content-Encoding: gzip\r\n")
    assert await end_of(fetcher(cache), target.url("/private")) == "robots_denied"


@pytest.mark.parametrize("framed", [True, False])
async def test_of_a_long_file_the_first_500_kib_are_read_and_the_rest_is_left(
    cache: RobotsCache, target: RawTarget, framed: bool
) -> None:
    begin = b"User-agent: *\nDisallow: /private\n"
    filler = b"# 345678901234567890123456789012\n"
    until_500_kib = begin + filler * ((500 * 1024 - 2 * len(begin)) // len(filler)) + b"Disallow: /private/open\n"
    body = until_500_kib + filler * 40_000 + b"Disallow: /\n"
    assert len(until_500_kib) <= 500 * 1024 < MAX_BYTES < len(body)
    head = f"Content-Length: {len(body)}\r\n" if framed else ""
    target.answers["/robots.txt"] = f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + body
    here = fetcher(cache)
    assert await end_of(here, target.url("/private/open")) == "robots_denied"
    assert await end_of(here, target.url("/")) == "ok"


async def test_a_file_is_found_over_five_redirects_and_after_a_sixth_it_is_not_there(
    cache: RobotsCache, target: RawTarget
) -> None:
    target.answers |= {f"/r{n}": redirect(f"/r{n + 1}") for n in range(1, 6)}
    target.answers |= {"/robots.txt": redirect("/r2"), "/r6": response(b"User-agent: *\nDisallow: /")}
    assert await end_of(fetcher(cache), target.url("/")) == "robots_denied"
    target.answers["/robots.txt"] = redirect("/r1")
    await cache._client.flushdb()
    assert await end_of(fetcher(cache), target.url("/")) == "ok"


async def test_a_redirect_of_the_file_to_a_denied_address_is_not_followed(
    cache: RobotsCache, target: RawTarget
) -> None:
    target.answers["/robots.txt"] = redirect("http://inside.example/robots.txt")
    assert await end_of(fetcher(cache), target.url("/")) == "ok"
    assert paths(target) == ["/robots.txt", "/"]


@pytest.mark.parametrize(("answer", "code"), [(b"", "disconnected"), (hang, "timeout")])
async def test_a_host_that_cannot_be_asked_now_ends_the_attempt_as_without_robots(
    cache: RobotsCache, target: RawTarget, answer: Answer, code: str
) -> None:
    target.answers["/robots.txt"] = answer
    outcome = await fetcher(cache).fetch(FetchRequest(target.url("/"), robots=True, timeout_s=0.5))
    assert isinstance(outcome, Temporary)
    assert outcome.code == code
    assert paths(target) == ["/robots.txt"]
    assert await cache.find(target.url("")) is None


async def test_each_origin_on_the_way_is_asked(cache: RobotsCache, target: RawTarget) -> None:
    target.answers |= {"/robots.txt": response(b"User-agent: *\nDisallow: /private")}
    target.answers["/go"] = redirect(target.url("/private", host="b.example"))
    async with raw_target() as other:
        other.answers |= {"/go": redirect(target.url("/private")), "/robots.txt": response(status="404 No")}
        assert await end_of(fetcher(cache), other.url("/go", host="a.example")) == "robots_denied"
        assert paths(other) == ["/robots.txt", "/go"]
    assert paths(target) == ["/robots.txt"]


async def test_what_is_known_is_shared_by_workers_until_its_time_is_over(
    cache: RobotsCache, redis_url: str, target: RawTarget
) -> None:
    target.answers["/robots.txt"] = response(RULES)
    for here in (fetcher(cache), fetcher(cache)):
        assert await end_of(here, target.url("/private")) == "robots_denied"
    assert paths(target) == ["/robots.txt"]
    key = PREFIX + target.url("")
    assert 0 < await cache._client.pttl(key) <= 60_000
    await cache._client.delete(key)
    target.answers["/robots.txt"] = response(status="500 Oops")
    assert await end_of(fetcher(cache, keep_s=86_400.0), target.url("/")) == "robots_denied"
    assert await cache._client.pttl(key) <= DENIED_S * 1000


@pytest.mark.req("NFR-1")
async def test_without_valkey_the_host_is_asked_each_time(target: RawTarget) -> None:
    target.answers["/robots.txt"] = response(RULES)
    nowhere = RobotsCache("redis://127.0.0.1:1/0")
    for _ in range(2):
        assert await end_of(fetcher(nowhere), target.url("/")) == "ok"
    assert paths(target) == ["/robots.txt", "/"] * 2
    await nowhere.aclose()


async def test_many_attempts_at_once_ask_for_the_file_once(cache: RobotsCache, target: RawTarget) -> None:
    let_go = asyncio.Event()

    async def slowly(_: Request, writer: asyncio.StreamWriter) -> None:
        await let_go.wait()
        writer.write(response(RULES))

    target.answers["/robots.txt"] = slowly
    here = fetcher(cache)
    attempts = [asyncio.create_task(end_of(here, target.url("/"))) for _ in range(10)]
    await until(lambda: bool(target.requests))
    let_go.set()
    async with asyncio.timeout(5):
        assert await asyncio.gather(*attempts) == ["ok"] * 10
    assert paths(target).count("/robots.txt") == 1


@pytest.mark.case("S4")
async def test_each_request_but_the_first_waits_for_a_permit(cache: RobotsCache, target: RawTarget) -> None:
    """The file spends the attempt's own token, so the page needs one; what is known already costs nothing."""
    target.answers |= {"/robots.txt": redirect("/rules"), "/rules": response(RULES)}
    asked: list[tuple[str, list[str]]] = []

    async def permit(host: str) -> None:
        asked.append((host, paths(target)))

    here = fetcher(cache)
    for _ in range(2):
        outcome = await here.fetch(FetchRequest(target.url("/"), robots=True), permit=permit)
        assert isinstance(outcome, Fetched)
        outcome.body.close()
    assert outcome.exchange.wire_requests == 1
    assert asked == [("127.0.0.1", ["/robots.txt"]), ("127.0.0.1", ["/robots.txt", "/rules"])]


async def test_a_permit_for_a_host_that_is_known_by_then_is_spent_on_the_page(
    cache: RobotsCache, target: RawTarget
) -> None:
    target.answers |= {"/robots.txt": response(RULES), "/go": redirect(target.url("/", host="a.example"))}
    asked: list[str] = []

    async def permit(host: str) -> None:
        asked.append(host)
        await cache.keep(target.url("", host="a.example"), b"allow", keep_s=60.0)  # somebody else was quicker

    outcome = await fetcher(cache).fetch(FetchRequest(target.url("/go"), robots=True), permit=permit)
    assert isinstance(outcome, Fetched)
    outcome.body.close()
    assert asked == ["127.0.0.1", "a.example"]
    assert paths(target) == ["/robots.txt", "/go", "/"]


@pytest.mark.django_db
@pytest.mark.req("FR-1")
@pytest.mark.parametrize("tenant", [True, False])
@pytest.mark.parametrize("job", [True, False, None])
def test_whoever_asks_for_robots_gets_it(tenant: bool, job: bool | None) -> None:
    client = make_client("a")
    call_command("tenants", "set", "a", "--robots" if tenant else "--no-robots")
    params = {} if job is None else {"robots": job}
    reply = post_job(client.key, {"url": "https://www.example.com/", "params": params})
    assert reply.status == 202
    assert Job.objects.get(id=reply.json["id"]).params["robots"] is (tenant or bool(job))


@pytest.mark.django_db
@pytest.mark.req("FR-1")
def test_robots_is_true_or_false() -> None:
    client = make_client("a")
    for value in ("obey", 1, None, []):
        reply = post_job(client.key, {"url": "https://www.example.com/", "params": {"robots": value}})
        assert reply.problem == "invalid-request", value


@pytest.mark.req("NFR-7")
async def test_room_is_had_before_the_lock(cache: RobotsCache, target: RawTarget) -> None:
    """An attempt that is redirected to a host waits for room there, which attempts of that host hold: they must not
    wait for it in turn.
    """
    target.answers |= {"/robots.txt": response(RULES), "/go": redirect(target.url("/", host="a.example"))}
    here, waiting, room = fetcher(cache), asyncio.Event(), asyncio.Event()

    async def permit(_: str) -> None:
        waiting.set()
        await room.wait()

    await cache.keep(target.url(""), b"allow", keep_s=60.0)
    redirected = asyncio.create_task(here.fetch(FetchRequest(target.url("/go"), robots=True), permit=permit))
    async with asyncio.timeout(5):
        await waiting.wait()
        assert await end_of(here, target.url("/", host="a.example")) == "ok"
        room.set()
        outcome = await redirected
    assert isinstance(outcome, Fetched)
    outcome.body.close()
