"""A tenant may have only so many jobs waiting; others are not touched, and nothing accepted is lost."""

from uuid import UUID

import pytest

from scrapejobs.store.models import Tenant
from tests.integration.world import Client, Reply, call, make_client, make_job, post_job, publish, start

pytestmark = pytest.mark.usefixtures("db")

BODY = {"url": "https://www.example.com/"}


@pytest.fixture
def acme() -> Client:
    acme = make_client("acme")
    Tenant.objects.filter(name="acme").update(max_queued=2)
    return acme


def post(client: Client, **headers: str) -> Reply:
    return post_job(client.key, BODY, **headers)


@pytest.mark.req("FR-12")
def test_above_the_cap_a_job_is_refused_with_a_time_to_come_back(acme: Client) -> None:
    other = make_client("other")
    assert [post(acme).status for _ in range(2)] == [202, 202]
    refused = post(acme)
    assert (refused.status, refused.problem) == (429, "queue-full")
    assert int(refused.headers["Retry-After"]) > 0
    assert post(other).status == 202
    assert len(call("GET", "/jobs", key=acme.key).json["items"]) == 2


@pytest.mark.req("FR-12")
def test_what_runs_or_has_ended_does_not_count_and_what_waits_for_its_retry_does(acme: Client) -> None:
    for state in ("succeeded", "failed", "cancelled"):
        make_job(acme, state)
    running = make_job(acme)
    start(running)
    make_job(acme, "delayed")
    assert post(acme).status == 202
    assert post(acme).problem == "queue-full"


@pytest.mark.req("FR-12")
def test_when_one_has_started_there_is_room_for_the_next(acme: Client) -> None:
    first = UUID(post(acme).json["id"])
    post(acme)
    assert post(acme).problem == "queue-full"
    publish(first)
    start(first)
    assert post(acme).status == 202


@pytest.mark.req("FR-2")
@pytest.mark.req("P5")
def test_a_repeat_is_answered_though_the_queue_is_full_and_a_refused_request_uses_no_key_up(acme: Client) -> None:
    first = post(acme, Idempotency_Key="one")
    post(acme)
    again = post(acme, Idempotency_Key="one")
    assert (again.status, again.json["id"]) == (202, first.json["id"])
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (
        post_job(acme.key, {"url": "https://other.example/"}, Idempotency_Key="one").problem == "idempotency-key-reused"
    )
    assert post(acme, Idempotency_Key="two").problem == "queue-full"
    Tenant.objects.filter(name="acme").update(max_queued=None)
    later = post(acme, Idempotency_Key="two")
    assert later.status == 202
    assert "Idempotency-Replayed" not in later.headers


@pytest.mark.req("FR-12")
def test_a_cap_of_zero_takes_nothing(acme: Client) -> None:
    Tenant.objects.filter(name="acme").update(max_queued=0)
    assert post(acme).problem == "queue-full"
