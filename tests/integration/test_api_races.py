"""What must hold when requests meet: real commits, a connection for each thread."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any, TypeVar

import pytest
from django.db import connection
from msgspec.json import encode

from scrapejobs.domain.outcome import Cancelled
from scrapejobs.store import transitions
from scrapejobs.store.keys import parse_key, revoke_key
from scrapejobs.store.reports import ended
from scrapejobs.store.run import run
from tests.integration.world import (
    POLICY,
    Client,
    Reply,
    call,
    end,
    make_client,
    make_job,
    one,
    post_job,
    start,
    stored,
)

T = TypeVar("T")
URL = "https://www.example.com/"

pytestmark = pytest.mark.usefixtures("committed")


def close_own_connection() -> None:
    """Of the thread that calls this, not of the one that names it."""
    connection.close()


def at_once(*what: Callable[[], T]) -> list[T]:
    """The answers of calls that start together, each in a thread of its own."""
    barrier = Barrier(len(what))

    def one_of(this: Callable[[], T]) -> T:
        barrier.wait(timeout=30)
        try:
            return this()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(what)) as pool:
        return list(pool.map(one_of, what))


@pytest.mark.req("FR-2")
@pytest.mark.req("FR-3")
@pytest.mark.case("S6")
def test_bulks_with_the_same_keys_in_another_order_make_each_job_once() -> None:
    key = make_client("a").key
    jobs = [{"url": f"{URL}{n}", "idempotency_key": f"k{n}"} for n in range(50)]

    def bulk(order: int) -> Reply:
        headers = {"Content-Type": "application/json"}
        return call("POST", "/jobs/bulk", key=key, headers=headers, body=encode({"jobs": jobs[::order]}))

    replies = at_once(*(partial(bulk, 1 if n % 2 else -1) for n in range(6)))
    assert {reply.status for reply in replies} == {202}
    told = [item for reply in replies for item in reply.json["items"]]
    assert len(told) == 6 * 50
    assert len({item["id"] for item in told}) == 50
    assert len([item for item in told if "replayed" not in item]) == 50
    assert one("SELECT count(*) FROM job") == 50


@pytest.mark.case("S1")
@pytest.mark.req("FR-4")
def test_a_job_can_be_read_straight_after_its_receipt() -> None:
    client = make_client("a")
    with ThreadPoolExecutor(1) as other:
        for _ in range(100):
            location = post_job(client.key, {"url": URL}).headers["Location"]
            reply = other.submit(call, "GET", location, key=client.key).result()
            assert (reply.status, reply.json["status"]) == (200, "queued")
        other.submit(close_own_connection).result()


@pytest.mark.case("S6")
@pytest.mark.case("in-126")
@pytest.mark.req("FR-2")
@pytest.mark.req("P5")
def test_fifty_requests_with_one_key_make_one_job() -> None:
    client = make_client("a")
    replies: list[Reply] = at_once(*[lambda: post_job(client.key, {"url": URL}, Idempotency_Key="k-3")] * 50)
    assert {reply.status for reply in replies} == {202}
    assert len({reply.content for reply in replies}) == 1
    assert sum("Idempotency-Replayed" not in reply.headers for reply in replies) == 1
    assert one("SELECT count(*) FROM job") == 1


@pytest.mark.case("S6")
@pytest.mark.req("FR-2")
@pytest.mark.req("P5")
def test_keys_belong_to_a_tenant_and_outlive_the_jobs_end() -> None:
    a, b = make_client("a"), make_client("b")

    def post(client: Client, url: str = URL) -> Reply:
        return post_job(client.key, {"url": url}, Idempotency_Key="k")

    mine, yours = post(a), post(b)
    assert mine.json["id"] != yours.json["id"]
    assert call("POST", f"/jobs/{mine.json['id']}/cancel", key=a.key).status == 202
    assert post(a).content == mine.content
    assert post(a, f"{URL}other").problem == "idempotency-key-reused"
    with connection.cursor() as cursor:
        cursor.execute("UPDATE receipt SET created_at = created_at - interval '24 hours 1 second'")
    anew = post(a)
    assert anew.json["id"] != mine.json["id"]
    assert "Idempotency-Replayed" not in anew.headers


@pytest.mark.case("in-229")
@pytest.mark.req("FR-5")
@pytest.mark.req("NFR-4")
def test_a_cancel_that_meets_a_success_leaves_one_of_both() -> None:
    client = make_client("a")
    for _ in range(25):
        job_id = make_job(client)
        claimed = start(job_id)

        def finish(claimed: dict[str, Any] = claimed) -> Any:
            return end(claimed, stored(claimed))

        def cancel(job_id: Any = job_id) -> Any:
            return call("POST", f"/jobs/{job_id}/cancel", key=client.key).status

        _, status = at_once(finish, cancel)
        job = call("GET", f"/jobs/{job_id}", key=client.key).json
        assert (status, job["status"]) in {(202, "cancelled"), (409, "succeeded")}
        assert (job["result"] is None) == (job["status"] == "cancelled")


@pytest.mark.req("FR-12")
def test_a_revoked_key_is_refused_at_the_next_request() -> None:
    client = make_client("a")
    assert call("GET", "/jobs", key=client.key).status == 200
    credential = parse_key(client.key)
    assert credential is not None
    revoke_key(credential.public_id)
    assert call("GET", "/jobs", key=client.key).problem == "unauthenticated"


@pytest.mark.req("FR-5")
def test_a_worker_that_let_go_leaves_the_job_cancelled() -> None:
    client = make_client("a")
    job_id = make_job(client)
    claimed = start(job_id)
    call("POST", f"/jobs/{job_id}/cancel", key=client.key)
    run(transitions.report([ended(claimed, Cancelled())], policy=POLICY, random=lambda: 0.5))
    assert call("GET", f"/jobs/{job_id}", key=client.key).json["status"] == "cancelled"
    (attempt,) = call("GET", f"/jobs/{job_id}/attempts", key=client.key).json["items"]
    assert attempt["outcome"] == "cancelled"
