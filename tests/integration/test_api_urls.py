"""POST /jobs with every URL of the tables: what may not be fetched or called is refused, and nothing is written."""

import json
from pathlib import Path
from typing import Any

import pytest

from scrapejobs.store.models import Job
from tests.integration.world import Client, make_client, opened, post_job

pytestmark = [pytest.mark.django_db, pytest.mark.req("NFR-11")]

DATA = Path(__file__).parent.parent / "data"
ROWS = [json.loads(line) for line in (DATA / "ssrf.jsonl").read_text(encoding="utf-8").splitlines()]
KINDS = json.loads((DATA / "url-kinds.json").read_text(encoding="ascii"))
REFUSED = {"target": {"invalid-request", "invalid-url", "url-not-allowed"}, "callback": {"callback-not-allowed"}}


@pytest.fixture
def client(db: None) -> Client:
    return make_client("a")


def body_of(row: dict[str, Any]) -> dict[str, Any]:
    if row["context"] == "callback":
        return {"url": "https://www.example.com/", "callback_url": row["url"]}
    return {"url": row["url"]}


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row["id"], marks=pytest.mark.case(row["id"])) for row in ROWS if row["via"] == "intake"],
)
def test_a_url_is_taken_in_or_refused_as_the_case_says(client: Client, row: dict[str, Any]) -> None:
    reply = post_job(client.key, body_of(row))
    if row["expect"] == "reject_at_intake":
        assert reply.status == 400
        assert reply.json["type"].rpartition("/")[2] in REFUSED[row["context"]]
        assert not Job.objects.exists()
    else:
        assert reply.status == 202, reply.json


@pytest.mark.parametrize("kind", KINDS["no-url"])
def test_no_url_of_a_kind_that_is_not_read_is_taken_in_as_target_or_as_callback(client: Client, kind: str) -> None:
    for url in KINDS["no-url"][kind]:
        reply = post_job(client.key, {"url": url})
        assert (reply.status, reply.json["type"]) == (
            400,
            f"/problems/{'invalid-url' if url else 'invalid-request'}",
        ), url
        called = post_job(
            client.key, {"url": "https://www.example.com/", "callback_url": url.replace("http:", "https:")}
        )
        assert called.status == 400, url
    assert not Job.objects.exists()


@pytest.mark.parametrize("reason", KINDS["not-allowed"])
def test_no_url_that_may_not_be_fetched_is_taken_in(client: Client, reason: str) -> None:
    for url in KINDS["not-allowed"][reason]:
        reply = post_job(client.key, {"url": url})
        assert (reply.status, reply.json["type"]) == (400, "/problems/url-not-allowed"), url
        assert [mistake["code"] for mistake in reply.json["errors"]] == [reason]
    assert not Job.objects.exists()


@pytest.mark.req("FR-1")
def test_what_only_looks_odd_is_taken_in_and_kept_as_it_goes_on_the_wire(client: Client) -> None:
    for url, wire in KINDS["read"]:
        reply = post_job(client.key, {"url": url})
        assert reply.status == 202, url
        assert opened(reply.json["id"])["url"] == wire
