"""POST /jobs/bulk: each item by itself, what is right as a whole, and keys of items and of the whole."""

import json
from typing import Any

import pytest
from django.db import connection

from scrapejobs.store import opt_outs
from scrapejobs.store.models import Job, Receipt, Tenant
from scrapejobs.store.run import run
from tests.integration.world import Client, Reply, call, make_client, post_job

GOOD, PRIVATE = "https://www.example.com/", "http://10.0.0.1/"

pytestmark = pytest.mark.req("FR-3")


def bulk(client: Client, jobs: Any, **headers: str) -> Reply:
    return send(client, json.dumps({"jobs": jobs}).encode(), **headers)


def send(client: Client, body: bytes, media: str = "application/json", **headers: str) -> Reply:
    given = {"Content-Type": media} | {name.replace("_", "-"): value for name, value in headers.items()}
    return call("POST", "/jobs/bulk", key=client.key, headers=given, body=body)


def lines(client: Client, *texts: str, **headers: str) -> list[Any]:
    reply = send(client, "\n".join(texts).encode(), "application/x-ndjson", **headers)
    assert (reply.status, reply.headers["Content-Type"]) == (202, "application/x-ndjson")
    return [json.loads(line) for line in reply.content.splitlines()]


def name(item: dict[str, Any]) -> str | None:
    return item["type"].rpartition("/")[2] if "type" in item else None


def n_jobs() -> int:
    return Job.objects.count()


@pytest.fixture
def client(db: None) -> Client:
    return make_client("acme")


@pytest.mark.parametrize(
    "body", ['{"jobs":[]}', '{"jobs":{}}', f'[{{"url":"{GOOD}"}}]', "{}", "null", '{"jobs":[1],"x":1}']
)
@pytest.mark.case("in-150")
@pytest.mark.case("in-151")
@pytest.mark.case("in-152")
def test_what_is_no_list_of_jobs_is_refused_as_a_whole(client: Client, body: str) -> None:
    reply = send(client, body.encode())
    assert (reply.status, reply.problem) == (400, "invalid-request")


@pytest.mark.case("in-153")
def test_more_than_a_thousand_items_are_refused_as_a_whole(client: Client) -> None:
    reply = bulk(client, [{"url": GOOD}] * 1001)
    assert (reply.status, reply.problem) == (413, "too-many-items")
    assert n_jobs() == 0


@pytest.mark.case("in-154")
def test_a_bad_item_is_told_in_its_place_and_holds_up_no_other(client: Client) -> None:
    reply = bulk(client, [{"url": PRIVATE if n == 3 else f"{GOOD}{n}"} for n in range(10)])
    assert reply.status == 202
    items = reply.json["items"]
    assert [name(item) for item in items] == [None] * 3 + ["url-not-allowed"] + [None] * 6
    assert items[3]["status"] == 400
    assert items[3]["errors"][0]["pointer"] == "/jobs/3/url"
    urls = {str(id_): url for id_, url in Job.objects.values_list("id", "url")}
    assert [urls.get(item.get("id")) for item in items] == [None if n == 3 else f"{GOOD}{n}" for n in range(10)]
    ids = [item["id"] for item in items if "id" in item]
    assert ids == sorted(ids)  # so that a list has them in their order
    assert items[0]["links"]["self"] == f"/jobs/{items[0]['id']}"


@pytest.mark.case("in-155")
def test_if_all_are_bad_each_is_told_and_no_row_is_made(client: Client) -> None:
    reply = bulk(client, [{"url": PRIVATE}] * 10)
    assert reply.status == 202
    assert [name(item) for item in reply.json["items"]] == ["url-not-allowed"] * 10
    assert n_jobs() == 0


@pytest.mark.parametrize(
    ("item", "problem", "pointer"),
    [
        (7, "invalid-request", "/jobs/1"),
        ({}, "invalid-request", "/jobs/1/url"),
        ({"url": GOOD, "x": 1}, "invalid-request", "/jobs/1/x"),
        ({"url": "nonsense"}, "invalid-url", "/jobs/1/url"),
        ({"url": "http://a\ud800/"}, "invalid-url", "/jobs/1/url"),
        ({"url": GOOD, "tags": {"a": "b\0"}}, "invalid-request", "/jobs/1/tags/a"),
        ({"url": GOOD, "params": {"headers": {"Host": "x"}}}, "header-not-allowed", "/jobs/1/params/headers/Host"),
        ({"url": GOOD, "idempotency_key": "a b"}, "invalid-request", "/jobs/1/idempotency_key"),
        ({"url": GOOD, "idempotency_key": ""}, "invalid-request", "/jobs/1/idempotency_key"),
        ({"url": GOOD, "params": {"body": "x" * 300_000, "method": "POST"}}, "payload-too-large", None),
    ],
)
def test_whatever_is_wrong_with_one_item_is_its_own_matter(
    client: Client, item: Any, problem: str, pointer: str | None
) -> None:
    reply = bulk(client, [{"url": GOOD}, item, {"url": GOOD}])
    assert reply.status == 202
    good, bad, last = reply.json["items"]
    assert (name(good), name(bad), name(last)) == (None, problem, None)
    assert [error["pointer"] for error in bad.get("errors", [])] == ([pointer] if pointer else [])
    assert n_jobs() == 2


@pytest.mark.req("FR-2")
@pytest.mark.case("in-157")
def test_a_bulk_told_twice_under_one_key_is_taken_once(client: Client) -> None:
    jobs = [{"url": f"{GOOD}{n}"} for n in range(999)] + [{"url": PRIVATE}]
    first, again = bulk(client, jobs, Idempotency_Key="k"), bulk(client, jobs, Idempotency_Key='"k"')
    assert (first.status, again.status) == (202, 202)
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert [item.get("id") for item in again.json["items"]] == [item.get("id") for item in first.json["items"]]
    assert all(item["replayed"] for item in again.json["items"][:-1])
    assert n_jobs() == 999


@pytest.mark.req("FR-2")
def test_the_longest_key_does_for_a_bulk_too(client: Client) -> None:
    jobs = [{"url": f"{GOOD}{n}"} for n in range(3)]
    first, again = (bulk(client, jobs, Idempotency_Key="k" * 255).json["items"] for _ in range(2))
    assert [item["id"] for item in again] == [item["id"] for item in first]


@pytest.mark.req("FR-2")
@pytest.mark.case("in-124")
def test_a_key_stands_for_one_request_whatever_the_path(client: Client) -> None:
    assert post_job(client.key, {"url": GOOD}, Idempotency_Key="one").status == 202
    assert bulk(client, [{"url": GOOD}], Idempotency_Key="one").problem == "idempotency-key-reused"
    assert bulk(client, [{"url": GOOD}], Idempotency_Key="many").status == 202
    assert post_job(client.key, {"url": GOOD}, Idempotency_Key="many").problem == "idempotency-key-reused"
    changed = bulk(client, [{"url": f"{GOOD}?x=1"}], Idempotency_Key="many")
    assert (changed.status, changed.problem) == (422, "idempotency-key-reused")
    assert bulk(make_client("other"), [{"url": GOOD}], Idempotency_Key="many").status == 202
    assert n_jobs() == 3


@pytest.mark.req("FR-2")
def test_the_key_of_an_item_means_what_it_means_alone(client: Client) -> None:
    alone = post_job(client.key, {"url": GOOD}, Idempotency_Key="k").json["id"]
    same, other, new = bulk(
        client,
        [
            {"url": GOOD, "idempotency_key": "k"},
            {"url": f"{GOOD}?other", "idempotency_key": "k"},
            {"url": GOOD, "idempotency_key": "new"},
        ],
    ).json["items"]
    assert (same["id"], same["replayed"]) == (alone, True)
    assert (name(other), other["status"]) == ("idempotency-key-reused", 422)
    assert "replayed" not in new
    assert post_job(client.key, {"url": GOOD}, Idempotency_Key="new").json["id"] == new["id"]
    assert n_jobs() == 2


@pytest.mark.req("FR-2")
def test_of_two_items_with_one_key_the_first_speaks_for_both(client: Client) -> None:
    item = {"url": GOOD, "idempotency_key": "k"}
    first, twin, other = bulk(client, [item, item, {**item, "url": f"{GOOD}?other"}]).json["items"]
    assert (twin["id"], twin["replayed"]) == (first["id"], True)
    assert name(other) == "idempotency-key-reused"
    assert n_jobs() == 1


@pytest.mark.req("FR-2")
def test_a_key_past_its_time_is_free_again(client: Client) -> None:
    jobs = [{"url": GOOD, "idempotency_key": "item"}, {"url": GOOD}]
    before = [item["id"] for item in bulk(client, jobs, Idempotency_Key="whole").json["items"]]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE receipt SET created_at = clock_timestamp() - interval '30 days'")
    after = [item["id"] for item in bulk(client, jobs, Idempotency_Key="whole").json["items"]]
    assert set(before).isdisjoint(after)
    assert Receipt.objects.count() == 3


@pytest.mark.req("FR-12")
def test_a_full_queue_takes_what_there_is_room_for_in_order_and_a_repeat_needs_none(client: Client) -> None:
    Tenant.objects.filter(pk=client.tenant_id).update(max_queued=3)
    jobs = [{"url": f"{GOOD}{n}", "idempotency_key": f"k{n}"} for n in range(5)]
    assert [name(item) for item in bulk(client, jobs[:2]).json["items"]] == [None, None]
    again = bulk(client, jobs)
    assert again.status == 202
    assert [name(item) for item in again.json["items"]] == [None, None, None, "queue-full", "queue-full"]
    assert n_jobs() == 3


def test_lines_are_answered_with_lines_each_a_document_of_its_own(client: Client) -> None:
    good, broken, bad, last = lines(
        client, f'{{"url":"{GOOD}"}}', "", '{"url":', f'{{"url":"{PRIVATE}"}}\r', f'{{"url":"{GOOD}","priority":"low"}}'
    )
    assert (name(good), name(broken), name(bad), name(last)) == (None, "invalid-json", "url-not-allowed", None)
    assert bad["errors"][0]["pointer"] == "/url"
    assert n_jobs() == 2


@pytest.mark.req("FR-2")
def test_lines_told_twice_under_one_key_are_taken_once(client: Client) -> None:
    texts = [f'{{"url":"{GOOD}{n}"}}' for n in range(3)]
    first, again = lines(client, *texts, Idempotency_Key="k"), lines(client, *texts, Idempotency_Key="k")
    assert [item["id"] for item in again] == [item["id"] for item in first]
    assert (
        send(client, texts[0].encode(), "application/x-ndjson", Idempotency_Key="k").problem == "idempotency-key-reused"
    )
    assert n_jobs() == 3


@pytest.mark.parametrize("body", [b"", b"\n\n \r\n"])
def test_no_line_at_all_is_refused(client: Client, body: bytes) -> None:
    assert send(client, body, "application/x-ndjson").status == 400


@pytest.mark.parametrize("media", ["text/plain", "application/jsonl", ""])
def test_another_media_type_is_refused(client: Client, media: str) -> None:
    assert send(client, b'{"jobs":[]}', media).problem == "unsupported-media-type"


@pytest.mark.req("NFR-6")
def test_a_host_that_is_not_fetched_is_refused_item_by_item_and_a_repeat_has_its_answer(client: Client) -> None:
    shop = {"url": "https://shop.example.com/", "idempotency_key": "k"}
    (before,) = bulk(client, [shop]).json["items"]
    run(opt_outs.opt_out("*.example.com", reason="asked"))
    again, other, free = bulk(client, [shop, {"url": shop["url"]}, {"url": "https://example.org/"}]).json["items"]
    assert (again["id"], name(other), name(free)) == (before["id"], "host-opted-out", None)
    assert n_jobs() == 2
