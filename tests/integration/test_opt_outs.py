"""Hosts whose owners do not want to be fetched: refused at intake, and what is queued fails without a request."""

import asyncio
import os
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Any

import pytest
from django.core.management import call_command

from scrapejobs.adapters.bus import Bus
from scrapejobs.adapters.fetcher import Fetcher, FetchLimits
from scrapejobs.adapters.storage import ObjectStore
from scrapejobs.store import opt_outs
from scrapejobs.store.link import Link
from scrapejobs.store.models import Job
from scrapejobs.store.run import run, run_async
from scrapejobs.worker.opt_outs import OptOuts
from scrapejobs.worker.runner import FetchRunner
from tests.integration.factories import Conn, make_job, one, rows
from tests.integration.fetching import LOOPBACK, redirect
from tests.integration.raw_target import RawTarget, raw_target, response
from tests.integration.test_worker import Worker, unlimited
from tests.integration.world import make_client, post_job

pytestmark = pytest.mark.req("NFR-6")


@pytest.fixture
async def target() -> AsyncIterator[RawTarget]:
    async with raw_target() as running:
        yield running


async def lookup(_: str) -> list[Any]:
    return [ip_address("127.0.0.1")]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("listed", "host", "is_refused"),
    [
        ("shop.example", "shop.example", True),
        ("shop.example", "SHOP.example.:8080", True),
        ("shop.example", "www.shop.example", False),
        ("*.shop.example", "www.shop.example", True),
        ("*.shop.example", "a.b.shop.example", True),
        ("*.shop.example", "shop.example", False),
        ("*.shop.example", "eshop.example", False),
        ("b\u00fccher.example", "xn--bcher-kva.example", True),
        ("8.8.8.8", "8.8.8.8", True),
    ],
)
def test_a_job_for_a_host_on_the_list_is_refused(listed: str, host: str, is_refused: bool) -> None:
    client = make_client("a")
    call_command("hosts", "opt-out", listed, "--reason", "its owner wrote on Monday")
    reply = post_job(client.key, {"url": f"https://{host}/"})
    if is_refused:
        assert (reply.status, reply.problem) == (400, "host-opted-out")
        assert not Job.objects.exists()
    else:
        assert reply.status == 202
    call_command("hosts", "opt-in", listed)
    assert post_job(client.key, {"url": f"https://{host}/"}).status == 202


@pytest.mark.django_db
@pytest.mark.req("FR-2")
def test_a_repeat_has_its_receipt_though_the_host_has_opted_out_since() -> None:
    client = make_client("a")
    body = {"url": "https://shop.example/"}
    first = post_job(client.key, body, Idempotency_Key="k-1")
    run(opt_outs.opt_out("shop.example", reason=""))
    again = post_job(client.key, body, Idempotency_Key="k-1")
    assert (again.status, again.json["id"]) == (202, first.json["id"])
    assert post_job(client.key, body, Idempotency_Key="k-2").problem == "host-opted-out"


async def test_what_is_queued_fails_without_a_request_and_so_does_what_is_redirected_there(
    conn: Conn, link: Link, bus: Bus, store: ObjectStore, target: RawTarget
) -> None:
    target.answers |= {"/": response(b"x"), "/go": redirect(target.url("/", host="www.shop.example"))}
    await run_async(conn, opt_outs.opt_out("*.shop.example", reason=""))
    known = OptOuts(link)
    await known.tick()
    urls = [
        target.url("/", host="a.shop.example"),
        target.url("/go", host="b.example"),
        target.url("/", host="c.example"),
    ]
    for url in urls:
        await make_job(conn, place="ready", url=url)
    fetcher = Fetcher(FetchLimits(policy=LOOPBACK), lookup=lookup, is_opted_out=known.has)
    async with Worker(os.environ["DATABASE_URL"], bus, FetchRunner(fetcher, store, unlimited)) as worker:
        await worker.claimer.tick()
        await worker.idle()
    told = await rows(conn, "SELECT url, final_state, error_class, error_code FROM job")
    assert {row["url"]: (row["final_state"], row["error_class"], row["error_code"]) for row in told} == {
        urls[0]: ("failed", "permanent", "host_opted_out"),
        urls[1]: ("failed", "permanent", "host_opted_out"),
        urls[2]: ("succeeded", None, None),
    }
    assert sorted(request.headers["host"] for request in target.requests) == [
        f"{host}:{target.port}" for host in ("b.example", "c.example")
    ]


async def test_a_worker_waits_until_it_has_read_the_list_and_reads_it_again(conn: Conn, link: Link) -> None:
    known = OptOuts(link)
    question = asyncio.create_task(known.has("shop.example"))
    await asyncio.sleep(0)
    assert not question.done()
    await known.tick()
    assert await question is False
    await run_async(conn, opt_outs.opt_out("shop.example", reason=""))
    await known.tick()
    assert await known.has("shop.example")
    assert await one(conn, "SELECT name FROM opt_out") == {"name": "shop.example"}
    assert "limits" in known.wakes_on  # what the command and the admin say when they have changed the list
