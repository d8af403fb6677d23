"""What the API promises of jobs: read back, list, history, result, cancel, requeue."""

import urllib.request
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from scrapejobs.domain.outcome import Exchange, Hop, failure
from scrapejobs.store import hosts
from scrapejobs.store.ids import new_id
from scrapejobs.store.run import run
from tests.integration.world import (
    SHA256,
    Client,
    call,
    end,
    make_client,
    make_job,
    one,
    opened,
    post_job,
    publish,
    put_object,
    start,
    stored,
)

pytestmark = pytest.mark.django_db

URL = "https://www.example.com/"
UNKNOWN = "3fa85f64-5717-4562-b3fc-2c963f66afa6"


@pytest.fixture
def a(db: None) -> Client:
    return make_client("a")


@pytest.fixture
def b(db: None) -> Client:
    return make_client("b")


def read(client: Client, job_id: Any) -> Any:
    reply = call("GET", f"/jobs/{job_id}", key=client.key)
    assert reply.status == 200
    return reply.json


def execute(query: str, *params: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query, params)


@pytest.mark.req("FR-1")
def test_a_receipt_names_the_job_and_its_links(a: Client) -> None:
    reply = post_job(a.key, {"url": URL, "tags": {"run": "1"}, "priority": "high"})
    job_id = reply.json["id"]
    assert (reply.status, reply.headers["Location"]) == (202, f"/jobs/{job_id}")
    assert reply.json["status"] == "queued"
    base = f"/jobs/{job_id}"
    links = {"self": base} | {name: f"{base}/{name}" for name in ("result", "attempts", "cancel", "deliveries")}
    assert reply.json["links"] == links
    assert UUID(job_id).version == 7


@pytest.mark.req("FR-1")
def test_the_worker_needs_no_defaults(a: Client) -> None:
    job_id = post_job(a.key, {"url": URL, "params": {"method": "POST", "json": None, "expect": {"min_bytes": 1}}}).json[
        "id"
    ]
    assert opened(job_id)["params"] == {
        "method": "POST",
        "headers": {},
        "query": {},
        "body": None,
        "json": {"value": None},
        "timeout_s": 60.0,
        "max_bytes": 20 * 1024 * 1024,
        "follow_redirects": True,
        "accept_statuses": [],
        "retry_unsafe": False,
        "robots": False,
        "expect": {"min_bytes": 1},
    }


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"timeout_s": 300.5}, "/params/timeout_s"),
        ({"max_bytes": 100 * 1024 * 1024 + 1}, "/params/max_bytes"),
        ({"max_attempts": 21}, "/params/max_attempts"),
        ({"deadline_s": 7 * 86_400 + 1}, "/params/deadline_s"),
        ({"method": "POST", "body": "x", "json": 1}, "/params/json"),
        ({"body": "x"}, "/params/method"),
        ({"method": "HEAD", "json": {}}, "/params/method"),
        ({"headers": {"X": "1", "x": "2"}}, "/params/headers"),
        ({"query": {"a": "b" * 4096}}, "/params/query"),
        ({"accept_statuses": [299]}, "/params/accept_statuses/0"),
        ({"expect": {"nothing": 1}}, "/params/expect/nothing"),
    ],
)
@pytest.mark.req("FR-1")
def test_a_mistake_is_pointed_at(a: Client, params: dict[str, Any], pointer: str) -> None:
    reply = post_job(a.key, {"url": URL, "params": params})
    assert (reply.status, reply.problem) == (400, "invalid-request")
    assert [mistake["pointer"] for mistake in reply.json["errors"]] == [pointer]


@pytest.mark.req("FR-4")
@pytest.mark.parametrize(
    ("state", "status", "attempts"),
    [
        ("unpublished", "queued", 0),
        ("queued", "queued", 0),
        ("delayed", "queued", 1),
        ("running", "running", 1),
        ("succeeded", "succeeded", 1),
        ("failed", "failed", 1),
        ("cancelled", "cancelled", 0),
    ],
)
def test_status_and_attempts_follow_from_where_the_job_is(a: Client, state: str, status: str, attempts: int) -> None:
    job = read(a, make_job(a, state))
    assert (job["status"], job["attempts"]) == (status, attempts)
    assert (job["finished_at"] is not None) == (status in {"succeeded", "failed", "cancelled"})
    assert (job["started_at"] is not None) == (attempts > 0)
    assert (job["result"] is not None) == (status == "succeeded")
    assert (job["next_attempt_at"] is not None) == (state == "delayed")


@pytest.mark.req("FR-4")
def test_the_targets_last_error_is_told(a: Client) -> None:
    error = read(a, make_job(a, "failed"))["last_error"]
    assert (error["class"], error["code"]) == ("permanent", "http_401")


@pytest.mark.case("S22")
@pytest.mark.req("FR-4")
def test_a_queued_job_tells_what_holds_it(a: Client) -> None:
    assert read(a, make_job(a, "unpublished"))["waiting_for"]["reason"] == "publishing"
    delayed = read(a, make_job(a, "delayed"))
    assert delayed["waiting_for"]["reason"] == "retry_backoff"
    assert delayed["waiting_for"]["until"] == delayed["next_attempt_at"]
    job_id = make_job(a)
    assert read(a, job_id)["waiting_for"]["reason"] == "no_worker"
    execute(
        "INSERT INTO service (id, role, name, hostname, pid) VALUES (%s, 'worker', 'w', 'h', 1)",
        new_id(),
    )
    assert read(a, job_id)["waiting_for"]["reason"] == "tenant_turn"
    execute("INSERT INTO crowded (host, until) VALUES ('www.example.com', '2100-01-01T00:00:00Z')")
    assert read(a, job_id)["waiting_for"] == {
        "reason": "host_limit",
        "until": "2100-01-01T00:00:00Z",
        "detail": "www.example.com takes no more at once",
    }
    run(hosts.pause("*.example.com", for_s=None))
    assert read(a, job_id)["waiting_for"] == {
        "reason": "host_paused",
        "until": None,
        "detail": "www.example.com is paused",
    }
    execute("UPDATE host SET paused_until = '2100-01-01T00:00:00Z'")
    assert read(a, job_id)["waiting_for"]["until"] == "2100-01-01T00:00:00Z"
    execute("DELETE FROM host")
    execute(
        "INSERT INTO circuit (host, failures, successes, retry_at, reason)"
        " VALUES ('www.example.com', 0, 0, '2100-01-01T00:00:00Z', 'http_503')"
    )
    assert read(a, job_id)["waiting_for"] == {
        "reason": "circuit_open",
        "until": "2100-01-01T00:00:00Z",
        "detail": "www.example.com failed many times in a row or is busy",
    }
    start(job_id)
    assert read(a, job_id)["waiting_for"] is None


@pytest.mark.req("FR-4")
def test_an_etag_holds_until_the_job_changes(a: Client) -> None:
    job_id = make_job(a)
    where = f"/jobs/{job_id}"
    etag = call("GET", where, key=a.key).headers["ETag"]
    same = call("GET", where, key=a.key, headers={"If-None-Match": f'"other", W/{etag}'})
    assert (same.status, same.content, same.headers["ETag"]) == (304, b"", etag)
    start(job_id)
    changed = call("GET", where, key=a.key, headers={"If-None-Match": etag})
    assert changed.status == 200
    assert changed.headers["ETag"] != etag


@pytest.mark.req("FR-7")
def test_every_attempt_is_told_and_the_one_under_way(a: Client) -> None:
    job_id = make_job(a)
    claimed = start(job_id)
    exchange = Exchange(
        "headers",
        target_status=503,
        bytes_read=7,
        address_family="ipv4",
        redirects=(Hop("https://www.example.com/?***", 302),),
        wire_requests=2,
        timings={"dns": 0.25, "headers": 1.5},
    )
    end(claimed, failure("http_503", phase="headers", exchange=exchange))
    execute(
        "WITH d AS (DELETE FROM delayed RETURNING *) INSERT INTO queued (job_id, priority, tenant_id, host) "
        "SELECT job_id, priority, tenant_id, host FROM d"
    )
    start(job_id)
    first, second = call("GET", f"/jobs/{job_id}/attempts", key=a.key).json["items"]
    assert (first["number"], first["outcome"], first["code"], first["target_status"]) == (
        1,
        "temporary",
        "http_503",
        503,
    )
    assert (first["bytes"], first["address_family"], first["wire_requests"]) == (7, "ipv4", 2)
    assert first["redirects"] == [{"url": "https://www.example.com/?***", "status": 302}]
    assert (first["timings"], second["timings"]) == ({"dns": 0.25, "headers": 1.5}, {})
    assert (second["number"], second["outcome"], second["finished_at"]) == (2, None, None)
    assert second["worker"] == "worker-1"


@pytest.mark.req("FR-8")
def test_a_result_comes_through_a_signed_link(a: Client) -> None:
    job_id = make_job(a, "succeeded")
    put_object(job_id)
    link = call("GET", f"/jobs/{job_id}/result", key=a.key).json
    with urllib.request.urlopen(link["url"]) as answer:  # noqa: S310 - the test's own store
        content = answer.read()
        assert answer.headers["Content-Disposition"].startswith("attachment")
    assert sha256(content).hexdigest() == link["sha256"] == SHA256
    left = datetime.fromisoformat(link["expires_at"]) - datetime.now(UTC)
    assert left <= timedelta(minutes=5)


@pytest.mark.req("FR-5")
def test_a_running_job_is_cancelled_at_once_and_its_lease_stays(a: Client) -> None:
    job_id = make_job(a)
    claimed = start(job_id)
    assert call("POST", f"/jobs/{job_id}/cancel", key=a.key).status == 202
    assert read(a, job_id)["status"] == "cancelled"
    assert one("SELECT count(*) FROM lease WHERE job_id = %s", job_id) == 1
    end(claimed, stored(claimed))
    assert read(a, job_id)["status"] == "cancelled"
    assert read(a, job_id)["result"] is None


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
@pytest.mark.parametrize("state", ["unpublished", "queued", "delayed", "running"])
def test_cancel_twice_gives_the_same_answer(a: Client, state: str) -> None:
    where = f"/jobs/{make_job(a, state)}/cancel"
    first, second = call("POST", where, key=a.key), call("POST", where, key=a.key)
    assert (first.status, first.json["status"]) == (202, "cancelled")
    assert (second.status, second.content) == (202, first.content)


@pytest.mark.req("FR-10")
def test_only_a_failed_job_is_requeued_and_starts_afresh(a: Client) -> None:
    job_id = make_job(a, "failed")
    assert call("POST", f"/jobs/{job_id}/requeue", key=a.key).status == 202
    job = read(a, job_id)
    assert (job["status"], job["attempts"], job["finished_at"]) == ("queued", 0, None)
    again = call("POST", f"/jobs/{job_id}/requeue", key=a.key)
    assert (again.status, again.problem) == (409, "not-failed")
    publish(job_id)


@pytest.mark.req("NFR-5")
@pytest.mark.parametrize("state", ["queued", "running", "succeeded", "failed"])
@pytest.mark.parametrize(
    ("method", "part"),
    [("GET", ""), ("HEAD", ""), ("GET", "/attempts"), ("GET", "/result"), ("POST", "/cancel"), ("POST", "/requeue")],
)
def test_another_tenants_job_is_like_none(a: Client, b: Client, state: str, method: str, part: str) -> None:
    job_id = make_job(a, state)
    before = read(a, job_id)
    foreign = call(method, f"/jobs/{job_id}{part}", key=b.key)
    unknown = call(method, f"/jobs/{UNKNOWN}{part}", key=b.key)
    assert foreign.status == unknown.status == 404
    assert foreign.content == unknown.content
    assert read(a, job_id) == before


@pytest.mark.req("NFR-5")
def test_a_list_holds_own_jobs_alone(a: Client, b: Client) -> None:
    mine, _ = make_job(a), make_job(b)
    assert [job["id"] for job in call("GET", "/jobs", key=a.key).json["items"]] == [str(mine)]


@pytest.mark.req("FR-12")
@pytest.mark.parametrize(("scope", "allowed"), [("read", "GET"), ("submit", "POST")])
def test_a_key_does_what_its_scopes_say(a: Client, scope: str, allowed: str) -> None:
    key = make_client(a.name, scope).key
    statuses = {"GET": call("GET", "/jobs", key=key).status, "POST": post_job(key, {"url": URL}).status}
    assert statuses.pop(allowed) < 300
    assert list(statuses.values()) == [403]


@pytest.mark.req("FR-12")
@pytest.mark.req("NFR-5")
def test_a_key_with_another_secret_is_like_none(a: Client, b: Client) -> None:
    stitched = "_".join([*a.key.split("_")[:2], b.key.split("_")[2]])
    reply = call("GET", "/jobs", key=stitched)
    assert (reply.status, reply.content) == (401, call("GET", "/jobs").content)


@pytest.mark.req("NFR-1")
def test_probes_and_the_contract_need_no_key() -> None:
    ready = call("GET", "/readyz")
    assert (ready.status, ready.json["postgres"], ready.json["object_store"]) == (200, "reached", "reached")
    assert call("GET", "/healthz").status == 200
    assert call("GET", "/openapi.json").json["openapi"] == "3.1.0"
    assert call("GET", "/docs").headers["Content-Type"].startswith("text/html")
