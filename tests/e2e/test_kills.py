"""Nothing is lost when processes and servers are killed."""

import pytest

from tests.e2e.service import Service
from tests.e2e.target import Target, page
from tests.e2e.waiting import wait_until

SHORT = {"SCRAPEJOBS_LEASE_S": "3", "SCRAPEJOBS_SWEEP_S": "1", "SCRAPEJOBS_DISPATCH_LEASE_S": "2"}


@pytest.mark.req("P9")
@pytest.mark.case("S23")
@pytest.mark.parametrize("service", [SHORT], indirect=True)
def test_jobs_of_a_killed_worker_finish_elsewhere(service: Service, target: Target) -> None:
    *_, first = service.start_all(workers=1)
    jobs = [service.submit(target.url(f"/hold/{n}")) for n in range(5)]
    for n in range(5):
        target.wait_for(f"/hold/{n}")
    first.kill()
    service.wait_ready(service.start("worker", "--name", "second"))
    for n in range(5):
        target.wait_for(f"/hold/{n}", times=2)
    target.release()
    for job_id in jobs:
        assert service.wait_for(job_id, "succeeded", "failed")["status"] == "succeeded"
    service.wait_all_final()
    service.check_nothing_left()
    assert service.rows("SELECT outcome, count(*) FROM attempt GROUP BY 1 ORDER BY 1") == [("lost", 5), ("stored", 5)]


@pytest.mark.req("NFR-3")
@pytest.mark.req("P1")
@pytest.mark.case("S7")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("service", [SHORT], indirect=True)
def test_nothing_is_lost_when_each_server_is_killed_during_a_run(service: Service, target: Target) -> None:
    service.start_all(workers=2)
    accepted: list[str] = []
    for turn, name in enumerate(("postgres", "valkey", "s3")):
        accepted += [service.submit(target.url(f"/page/{turn}-{n}", host=n % 20 + 1)) for n in range(100)]
        service.servers[name].kill()
        service.servers[name].start()
        wait_until(lambda: service.ask("GET", "/jobs?limit=1").status_code == 200, what="the API to answer")
    service.wait_all_final()
    stored = dict(service.rows("SELECT id::text, final_state FROM job"))
    assert {job_id: stored.get(job_id) for job_id in accepted} == dict.fromkeys(accepted, "succeeded")
    service.check_nothing_left()


@pytest.mark.req("NFR-8")
@pytest.mark.case("S7")
@pytest.mark.parametrize("service", [{"SCRAPEJOBS_DISPATCH_LEASE_S": "3600"}], indirect=True)
def test_after_a_restart_of_postgres_the_dispatcher_does_not_wait_for_its_own_lease_to_end(
    service: Service, target: Target
) -> None:
    service.start_all()
    service.wait_for(service.submit(target.url("/page/before")), "succeeded")
    service.servers["postgres"].kill()
    service.servers["postgres"].start()
    wait_until(lambda: service.ask("GET", "/jobs?limit=1").status_code == 200, what="the API to answer")
    service.wait_for(service.submit(target.url("/page/after")), "succeeded")


@pytest.mark.req("P10")
def test_intake_answers_with_valkey_the_object_store_and_all_workers_down(service: Service, target: Target) -> None:
    *_, worker = service.start_all()
    worker.kill()
    service.servers["valkey"].kill()
    service.servers["s3"].kill()
    try:
        jobs = [service.submit(target.url(f"/page/{n}")) for n in range(20)]
        assert {service.job(job_id)["status"] for job_id in jobs} == {"queued"}
    finally:
        service.servers["valkey"].start()
        service.servers["s3"].start()
    service.start("worker")
    for job_id in jobs:
        assert service.wait_for(job_id, "succeeded", "failed")["status"] == "succeeded"


@pytest.mark.req("P8")
def test_a_stopped_worker_finishes_what_it_has_and_takes_nothing_new(service: Service, target: Target) -> None:
    *_, worker = service.start_all()
    running = service.submit(target.url("/hold/1"))
    target.wait_for("/hold/1")
    worker.process.terminate()
    wait_until(lambda: "worker_draining" in worker.log.read_text(), what="the worker to drain")
    later = service.submit(target.url("/page/later"))
    target.release()
    assert worker.process.wait(40) == 0
    assert service.job(running)["status"] == "succeeded"
    assert service.job(later)["status"] == "queued"
    service.start("worker")
    service.wait_for(later, "succeeded")
    assert service.rows(f"SELECT outcome FROM attempt WHERE job_id = '{later}'") == [("stored",)]  # noqa: S608


@pytest.mark.req("P8")
def test_what_a_stopped_worker_cannot_finish_is_handed_back_uncharged(service: Service, target: Target) -> None:
    service.start_all(workers=0)
    worker = service.start("worker", SCRAPEJOBS_GRACE_S="0.5")
    job_id = service.submit(target.url("/hold/1"))
    target.wait_for("/hold/1")
    assert worker.stop() == 0
    job = service.job(job_id)
    assert (job["status"], job["attempts"]) == ("queued", 0)
    target.release()
    service.start("worker")
    assert service.wait_for(job_id, "succeeded")["attempts"] == 1


@pytest.mark.req("NFR-6")
@pytest.mark.req("NFR-10")
@pytest.mark.parametrize("service", [SHORT], indirect=True)
def test_a_standby_scheduler_goes_on_when_the_dispatching_one_is_killed(service: Service, target: Target) -> None:
    _, _, leader, *_ = service.start_all()
    wait_until(lambda: "dispatcher_elected" in leader.log.read_text(), what="a leader")
    standby = service.start("scheduler", "--name", "standby")
    service.wait_ready(standby)
    leader.kill()
    job_id = service.submit(target.url("/page/1"))
    job = service.wait_for(job_id, "succeeded", "failed")
    assert job["result"]["size"] == len(page("/page/1"))
    assert "dispatcher_elected" in standby.log.read_text()
