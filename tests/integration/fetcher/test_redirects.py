"""Redirects: followed by hand, each hop judged like a new URL, nothing of the job across origins."""

import asyncio

import pytest

from scrapejobs.adapters.fetcher import Fetched, Fetcher, FetchRequest
from scrapejobs.domain.outcome import Permanent
from tests.integration.fetching import (
    failed,
    fetched,
    redirect,
)
from tests.integration.raw_target import RawTarget, Request, raw_target, response


@pytest.mark.case("target-33")
async def test_ten_redirects_are_followed_and_the_eleventh_is_not(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers |= {f"/{number}": redirect(f"/{number + 1}") for number in range(11)}
    target.answers["/11"] = response(b"x")
    outcome, _ = await fetched(fetcher, target.url("/1"))
    assert outcome.final_url == target.url("/11")
    assert [hop.status for hop in outcome.exchange.redirects] == [302] * 10
    assert outcome.exchange.wire_requests == 11
    refused = await failed(fetcher, target.url("/0"))
    assert isinstance(refused, Permanent)
    assert refused.code == "too_many_redirects"


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    ("location", "code"),
    [
        *(
            pytest.param(location, "blocked_address", marks=pytest.mark.case("target-34"))
            for location in (
                "http://169.254.169.254/latest/",
                "//10.0.0.1",
                "http://[::ffff:127.0.0.1]/",
                "http://localhost/",
                "http://inside.example/",
                "http://mixed.example/",
            )
        ),
        *(
            pytest.param(location, "blocked_scheme", marks=pytest.mark.case("target-35"))
            for location in ("file:///etc/passwd", "gopher://a.example/", "javascript:alert(1)")
        ),
        *(
            pytest.param(location, "redirect_invalid", marks=pytest.mark.case("target-40"))
            for location in ("", "http://", "http://user:pw@a.example/", "http://127.1/")
        ),
        ("http://a.example:6379/", "blocked_port"),
    ],
)
async def test_a_redirect_is_judged_like_a_new_url(
    target: RawTarget, fetcher: Fetcher, location: str, code: str
) -> None:
    target.answers["/"] = redirect(location)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert outcome.code == code
    assert target.n_connections == 1
    assert outcome.exchange.wire_requests == 1


SECRETS = {"Authorization": "Bearer s", "Cookie": "a=1", "X-Api-Key": "k", "Accept": "text/plain"}


@pytest.mark.case("target-36")
@pytest.mark.req("NFR-12")
async def test_no_header_of_the_job_crosses_an_origin(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/start"] = redirect("/same")
    async with raw_target() as other:
        target.answers["/same"] = redirect(other.url("/other", host="a.example"))
        other.answers["/other"] = response(b"x")
        await fetched(fetcher, target.url("/start", host="a.example"), headers=SECRETS)
        start, same, crossed = *target.requests, *other.requests
    for request in (start, same):
        assert SECRETS.items() <= {name: request.headers[name.lower()] for name in SECRETS}.items()
    assert {"authorization", "cookie", "x-api-key"}.isdisjoint(crossed.headers)
    assert crossed.headers["accept"] == "*/*"


@pytest.mark.case("target-37")
async def test_a_location_goes_on_the_wire_as_it_came(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/A_&_B"] = redirect("/A_%26_B?sig=%2f+a%3D'b'&x=%27")
    target.answers["/A_%26_B"] = response(b"x")
    await fetched(fetcher, target.url("/A_&_B"))
    assert [request.path for request in target.requests] == ["/A_&_B", "/A_%26_B?sig=%2f+a%3D'b'&x=%27"]


@pytest.mark.case("target-38")
@pytest.mark.case("target-49")
@pytest.mark.parametrize("host", ["a.example", "127.0.0.1"])
async def test_cookies_are_kept_within_a_job_and_never_beyond_it(
    target: RawTarget, fetcher: Fetcher, host: str
) -> None:
    async def until_it_comes_back(request: Request, writer: asyncio.StreamWriter) -> None:
        has_come = request.headers.get("cookie") == "seen=1"
        writer.write(response(b"x") if has_come else redirect("/", headers="Set-Cookie: seen=1\r\n"))
        await writer.drain()

    target.answers["/"] = until_it_comes_back
    for _ in range(2):
        outcome, _ = await fetched(fetcher, target.url("/", host=host))
        assert outcome.exchange.wire_requests == 2
    assert [request.headers.get("cookie") for request in target.requests] == [None, "seen=1"] * 2


@pytest.mark.case("target-39")
@pytest.mark.parametrize(("status", "method", "body"), [("302 F", "GET", b""), ("307 T", "POST", b"payload")])
async def test_a_redirect_changes_or_repeats_a_post_as_its_status_says(
    target: RawTarget, fetcher: Fetcher, status: str, method: str, body: bytes
) -> None:
    target.answers["/from"] = redirect("/to?token=secret", status=status)
    target.answers["/to"] = redirect("/end", status=status)
    target.answers["/end"] = response(b"x")
    headers = {"Content-Type": "text/plain", "X-Api-Key": "k"}
    outcome, _ = await fetched(fetcher, target.url("/from"), method="POST", headers=headers, body=b"payload")
    last = target.requests[-1]
    assert (last.method, last.body) == (method, body)
    assert last.headers["x-api-key"] == "k"
    assert ("content-type" in last.headers) == bool(body)
    seen = [(hop.url, hop.status) for hop in outcome.exchange.redirects]
    assert seen == [(target.url("/from"), int(status[:3])), (target.url("/to?***"), int(status[:3]))]


@pytest.mark.case("target-40")
async def test_a_redirect_without_a_location_is_invalid(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(status="301 Moved")
    outcome = await failed(fetcher, target.url("/"))
    assert (outcome.code, outcome.exchange.target_status) == ("redirect_invalid", 301)


@pytest.mark.req("FR-1")
async def test_a_job_that_follows_no_redirects_gets_the_redirect_itself(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = redirect("http://169.254.169.254/")
    outcome, _ = await fetched(fetcher, target.url("/"), follow_redirects=False)
    assert (outcome.status, outcome.exchange.redirects) == (302, ())


@pytest.mark.req("NFR-6")
async def test_a_first_request_that_is_late_is_not_sent_before_its_permit(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(b"x")
    asked, given = asyncio.Event(), asyncio.Event()

    async def permit(host: str) -> None:
        assert host == "127.0.0.1"
        asked.set()
        await given.wait()

    now = asyncio.get_running_loop().time()
    late = asyncio.create_task(fetcher.fetch(FetchRequest(target.url("/")), permit=permit, send_by=now - 1.0))
    await asyncio.wait_for(asked.wait(), 30)
    assert target.requests == []
    given.set()
    outcome = await late
    assert isinstance(outcome, Fetched)
    outcome.body.close()
    assert len(target.requests) == 1


@pytest.mark.req("NFR-6")
async def test_a_first_request_in_time_needs_no_permit(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(b"x")

    async def permit(host: str) -> None:
        raise AssertionError(f"a permit was asked for at {host}")

    now = asyncio.get_running_loop().time()
    outcome = await fetcher.fetch(FetchRequest(target.url("/")), permit=permit, send_by=now + 3600.0)
    assert isinstance(outcome, Fetched)
    outcome.body.close()
