"""Requests a key may make, as a client sees it."""

import re
from datetime import date
from uuid import uuid4

import pytest
from django.conf import settings

from scrapejobs.gateway.limits import charge_stranger
from scrapejobs.gateway.problems import Problem
from scrapejobs.store.models import Tenant, Usage
from tests.integration.world import Client, Reply, call, make_client, post_job

URL = {"url": "https://www.example.com/"}
pytestmark = [pytest.mark.req("FR-12"), pytest.mark.django_db]


@pytest.fixture
def client() -> Client:
    """Of a tenant with three requests at once, and then one in a hundred seconds."""
    made = make_client("acme")
    Tenant.objects.filter(pk=made.tenant_id).update(rate=0.01, burst=3)
    return made


def t_of(reply: Reply) -> int:
    found = re.fullmatch(r'"requests";r=(\d+);t=(\d+)', reply.headers["RateLimit"])
    assert found, reply.headers["RateLimit"]
    return int(found[2])


@pytest.mark.case("in-147")
def test_the_request_above_the_burst_is_refused_and_told_when_to_come_again(client: Client) -> None:
    replies = [post_job(client.key, URL) for _ in range(4)]
    assert [reply.status for reply in replies] == [202, 202, 202, 429]
    assert replies[3].problem == "quota-exceeded"
    assert int(replies[3].headers["Retry-After"]) >= t_of(replies[3])
    assert 95 <= t_of(replies[3]) <= 100
    assert {reply.headers["RateLimit-Policy"] for reply in replies} == {'"requests";q=3;w=300'}
    assert [reply.headers["RateLimit"].partition(";t")[0] for reply in replies] == [
        f'"requests";r={left}' for left in (2, 1, 0, 0)
    ]


@pytest.mark.case("in-148")
def test_a_header_that_anybody_may_write_lifts_no_limit(client: Client) -> None:
    replies = [post_job(client.key, URL, X_Forwarded_For=f"1.2.3.{n}") for n in range(4)]
    assert [reply.status for reply in replies] == [202, 202, 202, 429]


def test_each_answer_tells_the_quota_whatever_it_is(client: Client) -> None:
    for reply in (call("GET", "/jobs", key=client.key), call("GET", "/jobs?nonsense=1", key=client.key)):
        assert t_of(reply) == 0
    assert "RateLimit" not in call("GET", "/healthz").headers


def test_keys_have_buckets_of_their_own(client: Client) -> None:
    other = make_client("other")
    for _ in range(4):
        post_job(client.key, URL)
    assert post_job(other.key, URL).status == 202


def test_a_bulk_costs_a_fiftieth_of_a_request_for_each_job(client: Client) -> None:
    body = b'{"jobs":[%s]}' % b",".join([b'{"url":"https://www.example.com/"}'] * 150)
    headers = {"Content-Type": "application/json"}
    reply = call("POST", "/jobs/bulk", key=client.key, headers=headers, body=body)
    assert reply.status == 202
    assert reply.headers["RateLimit"].startswith('"requests";r=0;')
    assert 195 <= t_of(reply) <= 200  # three for the jobs and one for the request: one short, and one for the next
    assert call("GET", "/jobs", key=client.key).status == 429


def test_a_changed_limit_holds_at_once(client: Client) -> None:
    while post_job(client.key, URL).status == 202:
        pass
    Tenant.objects.filter(pk=client.tenant_id).update(rate=1000, burst=1000)
    assert post_job(client.key, URL).status == 202


def is_refused_within(address: str, n: int) -> bool:
    try:
        for _ in range(n):
            charge_stranger({"REMOTE_ADDR": address})
    except Problem as problem:
        return problem.name == "quota-exceeded"
    return False


def test_who_shows_no_key_in_force_is_limited_by_address() -> None:
    one, other = f"2001:db8::{uuid4().hex[:4]}", f"2001:db8:1::{uuid4().hex[:4]}"
    assert is_refused_within(one, 2 * int(settings.CONFIG.stranger_burst))
    assert not is_refused_within(other, 1)
    assert "RateLimit" in call("GET", "/jobs", key="sj_nobody").headers


def test_as_many_jobs_a_day_as_may_and_a_repeat_counts_once() -> None:
    client = make_client("acme")
    Tenant.objects.filter(pk=client.tenant_id).update(daily=5)
    replies = [post_job(client.key, URL, Idempotency_Key="k") for _ in range(3)]
    assert [reply.status for reply in replies] == [202, 202, 202]
    assert post_job(client.key, URL).status == 202
    body = b'{"jobs":[%s]}' % b",".join([b'{"url":"https://www.example.com/"}'] * 4)
    headers = {"Content-Type": "application/json"}
    items = call("POST", "/jobs/bulk", key=client.key, headers=headers, body=body).json["items"]
    assert ["id" in item for item in items] == [True, True, True, False]
    assert items[3]["type"] == "/problems/quota-exceeded"
    refused = post_job(client.key, URL)
    assert (refused.status, refused.problem) == (429, "quota-exceeded")
    assert 0 < int(refused.headers["Retry-After"]) <= 86_400
    assert post_job(client.key, URL, Idempotency_Key="k").json["id"] == replies[0].json["id"]
    assert Usage.objects.get(tenant_id=client.tenant_id).jobs == 5


def test_yesterdays_jobs_do_not_count_and_without_a_quota_nothing_is_counted() -> None:
    client, free = make_client("acme"), make_client("free")
    Tenant.objects.filter(pk=client.tenant_id).update(daily=1)
    Usage.objects.create(tenant_id=client.tenant_id, day=date(2026, 1, 1), jobs=9)
    assert [post_job(client.key, URL).status for _ in range(2)] == [202, 429]
    assert post_job(free.key, URL).status == 202
    assert not Usage.objects.filter(tenant_id=free.tenant_id).exists()
