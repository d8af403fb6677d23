"""The main job, end to end, with every role a real process."""

import hashlib
import time

import pytest
import requests
from standardwebhooks import Webhook

from tests.e2e.service import Service
from tests.e2e.target import Target, page
from tests.e2e.waiting import wait_until

WINDOW_S = 5.0


@pytest.mark.req("FR-1")
@pytest.mark.req("FR-8")
def test_a_submitted_url_comes_back_through_a_signed_link_byte_for_byte(service: Service, target: Target) -> None:
    service.start_all()
    job_id = service.submit(target.url("/page/1"))
    job = service.wait_for(job_id, "succeeded", "failed", "cancelled")
    assert job["status"] == "succeeded", job
    assert job["result"]["sha256"] == hashlib.sha256(page("/page/1")).hexdigest()
    link = service.ask("GET", f"/jobs/{job_id}/result").json()
    answer = requests.get(link["url"], timeout=10)
    assert answer.content == page("/page/1")
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert target.count() == {"/page/1": 1}
    service.wait_all_final()
    service.check_nothing_left()


@pytest.mark.req("NFR-4")
@pytest.mark.req("NFR-5")
@pytest.mark.req("P4")
@pytest.mark.timeout(240)
def test_a_thousand_jobs_of_five_tenants_on_twenty_hosts_are_each_fetched_once(
    service: Service, target: Target
) -> None:
    service.start_all(workers=2)
    for n in range(1000):
        service.submit(
            target.url(f"/page/{n}", host=n % 20 + 1),
            tenant=f"tenant-{n % 5}",
            priority=("high", "normal", "low")[n % 3],
        )
    service.wait_all_final()
    assert service.rows("SELECT final_state, count(*) FROM job GROUP BY 1") == [("succeeded", 1000)]
    assert len(target.count()) == 1000
    assert set(target.count().values()) == {1}
    assert service.rows("SELECT count(*) FROM attempt") == [(1000,)]
    service.check_nothing_left()


@pytest.mark.req("FR-9")
@pytest.mark.req("P6")
def test_the_end_of_a_job_is_posted_signed_to_its_callback(service: Service, target: Target) -> None:
    service.start_all()
    job_id = service.submit(target.url("/page/1"), callback_url=target.url("/page/hook"))
    target.wait_for("/page/hook")
    (call,) = [hit for hit in target.hits if hit.path == "/page/hook"]
    [(secret,)] = service.rows("SELECT webhook_secret FROM tenant WHERE name = 'acme'")
    told = Webhook(secret).verify(call.body, call.headers)
    assert (told["id"], told["status"]) == (job_id, "succeeded")
    assert service.rows("SELECT id::text FROM event") == [(call.headers["webhook-id"],)]


@pytest.mark.req("FR-7")
def test_a_failing_target_is_tried_again_and_every_attempt_is_told(service: Service, target: Target) -> None:
    service.start_all()
    gone = service.submit(target.url("/status/410"))
    broken = service.submit(target.url("/status/503"), params={"max_attempts": 3})
    assert service.wait_for(gone, "failed")["last_error"]["code"] == "http_410"
    job = service.wait_for(broken, "failed")
    assert job["last_error"]["code"] == "http_503"
    attempts = service.ask("GET", f"/jobs/{broken}/attempts").json()["items"]
    assert [attempt["number"] for attempt in attempts] == [1, 2, 3]
    assert {attempt["code"] for attempt in attempts} == {"http_503"}
    assert target.count() == {"/status/410": 1, "/status/503": 3}


@pytest.mark.req("FR-5")
@pytest.mark.req("P7")
def test_a_cancel_closes_the_connection_of_a_running_job(service: Service, target: Target) -> None:
    service.start_all()
    job_id = service.submit(target.url("/hold/1"))
    target.wait_for("/hold/1")
    assert service.ask("POST", f"/jobs/{job_id}/cancel").status_code == 202
    assert service.job(job_id)["status"] == "cancelled"
    wait_until(lambda: target.closed == ["/hold/1"], what="the connection to be closed")
    service.wait_all_final()
    wait_until(lambda: service.rows("SELECT count(*) FROM lease") == [(0,)], what="the lease to be let go")
    service.check_nothing_left()
    assert service.rows("SELECT outcome FROM attempt") == [("cancelled",)]


@pytest.mark.case("S17")
def test_an_idle_service_makes_fewer_than_five_queries_a_second(service: Service) -> None:
    service.start_all()
    wait_until(lambda: transactions_a_second(service) < 5, what="an idle second to cost fewer than five queries")


def transactions_a_second(service: Service) -> float:
    """Over a window of 5 s; the two looks themselves left out. Backends report at most once a second."""
    count = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    began, before = time.monotonic(), service.rows(count)[0][0]
    wait_until(lambda: time.monotonic() - began > WINDOW_S, what="the window to end")
    return float(service.rows(count)[0][0] - before - 2) / (time.monotonic() - began)
