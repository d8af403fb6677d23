"""Leases under workers that stand still, die or restart: nothing is done twice, nothing hangs, nothing is taken."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
import requests

from tests.e2e.service import Role, Service
from tests.e2e.target import Target, page
from tests.e2e.waiting import wait_until

LEASE_S = 3.0
SHORT = {
    "SCRAPEJOBS_LEASE_S": str(LEASE_S),
    "SCRAPEJOBS_SWEEP_S": "0.5",
    "SCRAPEJOBS_DISPATCH_LEASE_S": "2",
    "SCRAPEJOBS_HOST_CONCURRENCY": "1",
}

BUSY = 'scrapejobs_slots{state="busy"}'

pytestmark = pytest.mark.parametrize("service", [SHORT], indirect=True)


@contextmanager
def standing_still(worker: Role) -> Iterator[None]:
    """The process stands still, as one whose event loop is blocked or whose machine is suspended."""
    worker.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        worker.process.send_signal(signal.SIGCONT)


def attempts(service: Service, job_id: str) -> list[tuple[str, str]]:
    """A job's ended attempts, as (worker, outcome), in order."""
    rows = service.rows(f"SELECT worker, outcome FROM attempt WHERE job_id = '{job_id}' ORDER BY number")  # noqa: S608
    return [(str(worker), str(outcome)) for worker, outcome in rows]


def gauge(role: Role, name: str) -> float:
    """A sample of a role's metrics; NaN while there is none."""
    text = requests.get(f"http://127.0.0.1:{role.metrics_port}/metrics", timeout=10).text
    return next((float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name)), float("nan"))


@pytest.mark.req("P4")
@pytest.mark.case("S8")
def test_a_job_three_leases_long_is_fetched_once(service: Service, target: Target) -> None:
    service.start_all()
    job_id = service.submit(target.url("/hold/long"))
    target.wait_for("/hold/long")
    held = "SELECT count(*) FROM lease WHERE expires_at - started_at > make_interval(secs => %s)"
    wait_until(lambda: service.rows(held % (4 * LEASE_S)) == [(1,)], what="three renewals beyond its first lease")
    target.release()
    service.wait_for(job_id, "succeeded")
    assert target.count() == {"/hold/long": 1}
    assert attempts(service, job_id) == [("w0", "stored")]


@pytest.mark.req("P4")
@pytest.mark.case("S8")
def test_a_worker_that_is_blocked_for_most_of_a_lease_fetches_once_or_loses_cleanly(
    service: Service, target: Target
) -> None:
    *_, worker = service.start_all()
    job_id = service.submit(target.url("/hold/blocked"))
    target.wait_for("/hold/blocked")
    nearly = f"SELECT count(*) FROM lease WHERE expires_at - clock_timestamp() < make_interval(secs => {LEASE_S / 4})"  # noqa: S608
    with standing_still(worker):
        wait_until(lambda: service.rows(nearly) == [(1,)], what="most of the lease to pass")
    target.release()
    service.wait_for(job_id, "succeeded")
    service.wait_all_final()
    *lost, last = [outcome for _, outcome in attempts(service, job_id)]
    assert (set(lost) <= {"lost", "released"}, last) == (True, "stored")
    assert target.count()["/hold/blocked"] == len(lost) + 1
    service.check_nothing_left()


@pytest.mark.req("P4")
@pytest.mark.req("P6")
@pytest.mark.case("S9")
@pytest.mark.case("target-53")
def test_a_worker_that_stood_still_past_its_lease_changes_nothing_when_it_goes_on(
    service: Service, target: Target
) -> None:
    *_, first = service.start_all()
    job_id = service.submit(target.url("/hold/1"))
    target.wait_for("/hold/1")
    with standing_still(first):
        service.wait_ready(service.start("worker", "--name", "w1"))
        target.wait_for("/hold/1", times=2)
        target.release()  # both requests are answered: the bytes wait in the first worker's socket
        service.wait_for(job_id, "succeeded")
        service.wait_all_final()
        row = f"SELECT job::text FROM job WHERE id = '{job_id}'"  # noqa: S608
        before = service.rows(row)
    wait_until(
        lambda: any(word in first.log.read_text() for word in ("lease_lost", "report_fenced")),
        what="the first worker to notice",
    )
    wait_until(lambda: gauge(first, 'scrapejobs_tick_seconds_count{loop="claimer"}') > 0, what="it to be alive")
    assert service.rows(row) == before
    assert attempts(service, job_id) == [("w0", "lost"), ("w1", "stored")]
    service.check_nothing_left()
    link = service.ask("GET", f"/jobs/{job_id}/result").json()
    assert requests.get(link["url"], timeout=10).content == page("/hold/1")
    assert msgspec.json.decode(service.manage("orphans", "--remove", "--json"))["orphans"] <= 1
    assert msgspec.json.decode(service.manage("orphans", "--json"))["orphans"] == 0
    assert requests.get(link["url"], timeout=10).content == page("/hold/1")


@pytest.mark.req("P9")
@pytest.mark.case("S10")
def test_the_lease_is_the_jobs_whatever_becomes_of_its_workers_name_and_row(service: Service, target: Target) -> None:
    service.start_all()
    job_id = service.submit(target.url("/hold/1"))
    target.wait_for("/hold/1")
    service.wait_ready(service.start("worker", "--name", "w0"))  # another one under the same name
    service.rows("DELETE FROM service WHERE role = 'worker' RETURNING id")
    beyond = f"SELECT count(*) FROM lease WHERE expires_at - started_at > make_interval(secs => {2 * LEASE_S})"  # noqa: S608
    wait_until(lambda: service.rows(beyond) == [(1,)], what="the lease to be renewed")
    target.release()
    service.wait_for(job_id, "succeeded")
    assert target.count() == {"/hold/1": 1}
    assert attempts(service, job_id) == [("w0", "stored")]


@pytest.mark.req("NFR-7")
@pytest.mark.case("S16")
def test_a_page_that_kills_its_worker_every_time_ends_as_poison_while_others_are_served(
    service: Service, target: Target
) -> None:
    service.start_all(workers=0)
    worker = service.start("worker", "--name", "w0")
    poison = service.submit(target.url("/hold/poison", host=1))
    for turn in range(1, 4):
        target.wait_for("/hold/poison", times=turn)
        worker.kill()  # by this page
        worker = service.start("worker", "--name", f"w{turn}")
        other = service.submit(target.url(f"/page/{turn}", host=2))
        assert service.wait_for(other, "succeeded", "failed")["status"] == "succeeded"
    job = service.wait_for(poison, "failed")
    assert job["last_error"]["code"] == "poison"
    assert attempts(service, poison) == [("w0", "lost"), ("w1", "lost"), ("w2", "lost")]
    assert target.count()["/hold/poison"] == 3
    assert poison in service.manage("dead_letters", "list", "--jobs", "--code", "poison")
    service.wait_all_final()
    service.check_nothing_left()


@pytest.mark.req("P7")
@pytest.mark.req("P9")
@pytest.mark.case("S18")
@pytest.mark.case("S23")
@pytest.mark.case("S24")
def test_after_a_crash_cancel_works_and_gauges_and_slots_heal_from_the_rows(service: Service, target: Target) -> None:
    """The host has one slot: one that leaked would hold every later job of it."""
    _, _, scheduler, _ = service.start_all(workers=0)
    for turn in range(2):
        worker = service.start("worker", "--name", f"w{turn}")
        job_id = service.submit(target.url(f"/hold/{turn}"))
        target.wait_for(f"/hold/{turn}")
        wait_until(lambda: gauge(scheduler, BUSY) == 1, what="the running job to be counted")
        worker.kill()
        assert service.ask("POST", f"/jobs/{job_id}/cancel").status_code == 202
        assert service.job(job_id)["status"] == "cancelled"
    wait_until(lambda: gauge(scheduler, BUSY) == 0, what="the dead workers' slots to be free")
    assert gauge(scheduler, "scrapejobs_leases_expired") == 0
    service.start("worker", "--name", "last")
    for n in range(3):
        service.wait_for(service.submit(target.url(f"/page/{n}")), "succeeded")
    assert set(target.count().values()) == {1}
    service.wait_all_final()
    service.check_nothing_left()
