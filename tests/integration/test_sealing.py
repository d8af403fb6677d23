"""Secrets of jobs, from the row to the wire and until they are erased (NFR-12)."""

import base64
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from scrapejobs.adapters.bus import Bus
from scrapejobs.adapters.storage import ObjectStore
from scrapejobs.domain.masking import masked_callback
from scrapejobs.store import transitions, upkeep
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.run import run_async
from scrapejobs.store.sealing import Ring, keep_callback, keep_request
from scrapejobs.worker.runner import FetchRunner
from tests.integration.factories import (
    PARAMS,
    PERMANENT,
    STORED,
    Conn,
    Made,
    end_of,
    make_job,
    make_tenant,
    one,
    rows,
    tell,
    where,
)
from tests.integration.raw_target import RawTarget, raw_target, response
from tests.integration.test_courier import Receiver, _receiver, courier
from tests.integration.test_worker import Worker, fetcher, unlimited

pytestmark = pytest.mark.req("NFR-12")

CANARY = "canary-5f2c/71"
RING = Ring(["a-key-for-tests-0123456789-0123456789"])
OTHER_RING = Ring(["another-key-for-tests-0123456789-0123456789"])


@pytest.fixture
async def target() -> AsyncIterator[RawTarget]:
    async with raw_target() as target:
        headers = f"Set-Cookie: s={CANARY}\r\nX-Auth-Token: {CANARY}\r\n"
        target.answers["/page"] = response(b"hello", headers=headers)
        target.answers["/away"] = response(status="302 Found", headers=f"Location: /page?code={CANARY}\r\n{headers}")
        yield target


async def sealed_job(conn: Conn, url: str, *, ring: Ring = RING, **more: Any) -> Made:
    """A job that is ready and carries a secret wherever it can carry one."""
    job_id = new_id()
    params = PARAMS | {
        "method": "POST",
        "headers": {"Authorization": f"Bearer {CANARY}", "Cookie": f"a={CANARY}", "Accept": "text/html"},
        "query": {"token": CANARY},
        "body": CANARY,
    }
    kept = keep_request(ring, f"{url}?sig={quote(CANARY, safe='')}", params, job_id=job_id)
    columns = {"id": job_id, "params": msgspec.json.encode(kept.params).decode(), "sealed": kept.sealed, **more}
    return await make_job(conn, **{"place": "ready", "host": "127.0.0.1"} | columns, url=kept.url)


async def planted(conn: Conn) -> list[str]:
    """The tables whose rows hold the canary, whatever it is written in."""
    forms = {
        CANARY,
        quote(CANARY, safe=""),
        base64.b64encode(CANARY.encode()).decode().rstrip("="),
        CANARY.encode().hex(),
    }
    names = [
        row["name"]
        for row in await rows(
            conn,
            "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
        )
    ]
    found = []
    for name in names:
        lines = await rows(conn, f'SELECT to_jsonb(t)::text AS line FROM "{name}" t')  # noqa: S608
        if any(form in row["line"] for row in lines for form in forms):
            found.append(name)
    return found


async def test_the_target_gets_every_secret_and_the_database_holds_none(
    conn: Conn, database_url: str, bus: Bus, store: ObjectStore, target: RawTarget
) -> None:
    job = await sealed_job(conn, target.url("/away"))
    assert await planted(conn) == []
    async with Worker(database_url, bus, FetchRunner(fetcher(), store, unlimited, RING)) as worker:
        await worker.claimer.tick()
        await worker.idle()
    first, second = target.requests
    assert first.path == f"/away?sig={quote(CANARY, safe='')}&token={quote(CANARY, safe='')}"
    assert (first.headers["authorization"], first.body) == (f"Bearer {CANARY}", CANARY.encode())
    assert (second.path, second.headers["cookie"]) == (f"/page?code={CANARY}", f"a={CANARY}; s={CANARY}")
    row = await one(conn, "SELECT final_state, sealed, result_meta FROM job WHERE id = %s", job.id)
    assert (row["final_state"], bytes(row["sealed"])) == ("succeeded", b"")
    assert row["result_meta"]["final_url"] == target.url("/page?***")
    assert ["Set-Cookie", "***"] in row["result_meta"]["headers"]
    assert await planted(conn) == []


async def test_a_worker_without_the_key_sends_nothing_and_charges_nothing(
    conn: Conn, database_url: str, bus: Bus, store: ObjectStore, target: RawTarget
) -> None:
    job = await sealed_job(conn, target.url("/page"), ring=OTHER_RING)
    async with Worker(database_url, bus, FetchRunner(fetcher(), store, unlimited, RING)) as worker:
        await worker.claimer.tick()
        await worker.idle()
    assert target.requests == []
    assert await where(conn, job.id) == ("queued", "delayed")
    attempt = await one(conn, "SELECT outcome, code, charged FROM attempt")
    assert attempt == {"outcome": "temporary", "code": "secrets_locked", "charged": False}
    assert (await one(conn, "SELECT attempts FROM job"))["attempts"] == 0


async def test_a_job_whose_secrets_are_damaged_fails_and_is_not_sent_without_them(
    conn: Conn, database_url: str, bus: Bus, store: ObjectStore, target: RawTarget
) -> None:
    await sealed_job(conn, target.url("/page"))
    await conn.execute("UPDATE job SET sealed = overlay(sealed PLACING '\\x00000000' FROM 20)")
    async with Worker(database_url, bus, FetchRunner(fetcher(), store, unlimited, RING)) as worker:
        await worker.claimer.tick()
        await worker.idle()
    assert target.requests == []
    assert (await one(conn, "SELECT final_state, error_code FROM job")) == {
        "final_state": "failed",
        "error_code": "secrets_damaged",
    }


async def sealed_of(conn: Conn, job: Made) -> bytes:
    return bytes((await one(conn, "SELECT sealed FROM job WHERE id = %s", job.id))["sealed"])


async def test_a_success_and_a_cancel_erase_and_a_failure_and_a_retry_do_not(conn: Conn) -> None:
    stored, cancelled, failed = [await sealed_job(conn, "http://a.example/", place="lease") for _ in range(3)]
    await run_async(conn, tell(end_of(stored, STORED), end_of(failed, PERMANENT)))
    await run_async(conn, transitions.cancel(cancelled.id, tenant_id=1))
    assert [await sealed_of(conn, job) for job in (stored, cancelled)] == [b"", b""]
    assert await sealed_of(conn, failed) != b""


async def test_what_is_discarded_is_erased_and_can_no_longer_be_requeued(conn: Conn) -> None:
    kept, erased = [await sealed_job(conn, "http://a.example/", place="lease") for _ in range(2)]
    await run_async(conn, tell(end_of(kept, PERMANENT), end_of(erased, PERMANENT)))
    await run_async(conn, transitions.discard_all([erased.id]))
    assert await run_async(conn, transitions.requeue(erased.id, tenant_id=1)) == "erased"
    assert await run_async(conn, transitions.requeue_all([kept.id, erased.id])) == [kept.id]
    assert (await where(conn, erased.id), await where(conn, kept.id)) == (("failed", None), ("queued", "unpublished"))
    assert await sealed_of(conn, kept) != b""


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async for one_ in _receiver():
        yield one_


async def with_callback(conn: Conn, url: str) -> None:
    """A final job with a delivery that is due."""
    await make_tenant(conn)
    job_id = new_id()
    masked, sealed = keep_callback(RING, url, job_id=job_id)
    await make_job(conn, status="succeeded", id=job_id, callback_url=masked, callback_sealed=sealed)
    await run_async(conn, upkeep.finish([new_id()]))
    assert (await one(conn, "SELECT url FROM delivery"))["url"] == masked_callback(url)


async def test_a_courier_posts_to_the_callback_url_that_no_row_shows(
    conn: Conn, link: Link, receiver: Receiver
) -> None:
    await with_callback(conn, f"{receiver.url}/hook/{CANARY}")
    assert await planted(conn) == []
    loop = courier(link, ring=RING)
    await loop.tick()
    await loop.drain(grace_s=5.0)
    assert receiver.came[0][0] == f"/hook/{CANARY}"


async def test_a_courier_without_the_key_leaves_the_delivery_to_one_that_has_it(
    conn: Conn, link: Link, receiver: Receiver
) -> None:
    await with_callback(conn, f"{receiver.url}/hook")
    without = courier(link, ring=OTHER_RING)
    await without.tick()
    await without.drain(grace_s=5.0)
    left = await one(conn, "SELECT state, tries - uncharged AS charged FROM delivery")
    assert left == {"state": "pending", "charged": 0}
    await conn.execute("UPDATE delivery SET next_try_at = clock_timestamp()")  # its claim has ended
    loop = courier(link, ring=RING)
    await loop.tick()
    await loop.drain(grace_s=5.0)
    assert len(receiver.came) == 1
