"""Two schedulers, of which one dispatches: the one that was stopped past its lease and goes on moves nothing."""

import signal

import pytest

from tests.e2e.service import Role, Service
from tests.e2e.target import Target
from tests.e2e.waiting import wait_until

DISPATCHER = "SELECT epoch, holder FROM dispatcher"


def said(role: Role, event: str) -> bool:
    return event in role.log.read_text()


@pytest.mark.req("NFR-6")
@pytest.mark.req("P4")
@pytest.mark.case("S9")
@pytest.mark.parametrize("service", [{"SCRAPEJOBS_DISPATCH_LEASE_S": "1"}], indirect=True)
def test_a_dispatcher_that_was_stopped_past_its_lease_finds_another_and_moves_nothing(
    service: Service, target: Target
) -> None:
    _, _, first, *_ = service.start_all(workers=0)
    wait_until(lambda: said(first, "dispatcher_elected"), what="a leader")
    waiting = [service.submit(target.url(f"/page/{n}")) for n in range(20)]  # in the first one's memory, for no worker
    wait_until(lambda: service.rows("SELECT count(*) FROM queued") == [(20,)], what="all to be queued")
    first.process.send_signal(signal.SIGSTOP)
    second = service.start("scheduler", "--name", "second")
    wait_until(lambda: said(second, "dispatcher_elected"), what="another leader")
    leading = service.rows(DISPATCHER)
    first.process.send_signal(signal.SIGCONT)
    wait_until(lambda: said(first, "dispatcher_lost"), what="the first to find out")
    service.wait_ready(service.start("worker"))
    for job_id in waiting:
        assert service.wait_for(job_id, "succeeded", "failed")["attempts"] == 1
    assert service.rows(DISPATCHER) == leading
    assert leading[0][1] == "second"
    assert set(target.count().values()) == {1}
    service.wait_all_final()
    service.check_nothing_left()
