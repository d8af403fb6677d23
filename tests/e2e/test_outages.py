"""Postgres is away for longer than a lease, again and again: that is no fault of the jobs, nor of their workers."""

import time

import pytest

from tests.e2e.service import Service
from tests.e2e.target import Target
from tests.e2e.waiting import wait_until

LEASE_S = 4.5
OUTAGES = 3
SHORT = {"SCRAPEJOBS_LEASE_S": str(LEASE_S), "SCRAPEJOBS_SWEEP_S": "0.5"}


@pytest.mark.req("NFR-7")
@pytest.mark.req("P4")
@pytest.mark.case("S7")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("service", [SHORT], indirect=True)
def test_three_outages_longer_than_a_lease_lose_no_worker_and_fetch_nothing_finished_again(
    service: Service, target: Target
) -> None:
    """The long job is broken off each time, for its lease may be another's by then; three lost workers would make it
    poison. The short ones end while nobody can be told of it.
    """
    *_, worker = service.start_all()
    postgres = service.servers["postgres"]
    long = service.submit(target.url("/hold/long"))
    short = []
    for turn in range(1, OUTAGES + 1):
        target.wait_for("/hold/long", times=turn)
        other = Target(addresses=1)
        short.append(service.submit(other.url(f"/hold/short-{turn}")))
        other.wait_for(f"/hold/short-{turn}")
        postgres.kill()
        away_since = time.monotonic()
        other.release()
        wait_until(lambda turn=turn: worker.log.read_text().count("lease_lost") == turn, what="the lease to end")
        wait_until(lambda since=away_since: time.monotonic() - since > LEASE_S + 0.5, what="an outage of a lease")
        postgres.start()
        wait_until(lambda: service.ask("GET", "/jobs?limit=1").status_code == 200, what="the API to answer")
        service.wait_for(short[-1], "succeeded")
        assert other.count() == {f"/hold/short-{turn}": 1}
        other.close()
    target.wait_for("/hold/long", times=OUTAGES + 1)
    target.release()
    service.wait_for(long, "succeeded", "failed")
    outcomes = f"SELECT outcome, charged FROM attempt WHERE job_id = '{long}' ORDER BY number"  # noqa: S608
    assert service.rows(outcomes) == [("released", False)] * OUTAGES + [("stored", True)]
    assert service.rows("SELECT DISTINCT final_state, lost, attempts FROM job") == [("succeeded", 0, 1)]
    assert service.rows("SELECT count(*) FROM attempt WHERE outcome = 'stored'") == [(OUTAGES + 1,)]
    service.wait_all_final()
    service.check_nothing_left()
