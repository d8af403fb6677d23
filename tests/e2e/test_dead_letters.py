"""A whole backlog sent back in one call."""

import psycopg
import pytest

from tests.e2e.service import Service
from tests.e2e.target import Target

N, SLOTS_OF_HOST = 300, 3


@pytest.mark.req("FR-10")
@pytest.mark.req("NFR-6")
@pytest.mark.case("S20")
@pytest.mark.parametrize("service", [{"SCRAPEJOBS_HOST_CONCURRENCY": str(SLOTS_OF_HOST)}], indirect=True)
def test_a_backlog_that_is_requeued_in_one_call_keeps_to_its_hosts_limits(service: Service, target: Target) -> None:
    service.wait_ready(service.start("gateway"))
    jobs = [service.submit(target.url(f"/hold/{n}")) for n in range(N)]
    with psycopg.connect(service.servers.environment["DATABASE_URL"], autocommit=True) as conn:
        conn.execute(
            "UPDATE job SET final_state = 'failed', finished_at = clock_timestamp(), error_class = 'permanent',"
            " error_code = 'http_401', finish_published_at = clock_timestamp(), published_at = clock_timestamp()"
        )
    assert f"{N} requeued" in service.manage("dead_letters", "requeue", "--host", "127.0.0.1")
    for role in ("publisher", "scheduler", "worker"):
        service.start(role)
    for n in range(3):  # others are served meanwhile, and by then the dispatcher has looked many times
        other = service.submit(target.url(f"/page/{n}", host=2))
        assert service.wait_for(other, "succeeded", "failed")["status"] == "succeeded"
    assert sum(path.startswith("/hold/") for path in target.count().elements()) == SLOTS_OF_HOST
    target.release()
    service.wait_all_final()
    assert {service.job(job_id)["status"] for job_id in jobs} == {"succeeded"}
    assert set(target.count().values()) == {1}
    service.check_nothing_left()
