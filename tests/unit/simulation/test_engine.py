"""What a simulation does with time, limits and failures; each figure follows from the scenario by arithmetic."""

from pathlib import Path
from random import Random

import pytest

from scrapejobs.domain.picking import HostLimits
from scrapejobs.simulation.arrivals import jobs_of
from scrapejobs.simulation.engine import simulate
from scrapejobs.simulation.record import Record, percentile, rows
from scrapejobs.simulation.scenario import ScenarioError, changed, parse, read
from scrapejobs.simulation.watch import Watch

ONE_HOST = """
title = "one host"
slots = 4
[hosts.h]
seconds = 2
{host}
[[arrivals]]
tenant = "t"
host = "h"
jobs = 10
"""


def lived(host: str = "", **more: object) -> Record:
    text = "".join(f"{key} = {value}\n" for key, value in more.items())
    return simulate(parse(text + ONE_HOST.format(host=host)))


def starts(record: Record) -> list[float]:
    return [round(at, 3) for at, _ in record.starts]


def test_slots_are_used_in_turns():
    record = lived()
    assert starts(record) == [0, 0, 0, 0, 2, 2, 2, 2, 4, 4]
    assert record.ended_at == 6


def test_duration_ends_it_and_what_has_not_started_has_waited_until_then():
    record = lived(duration=3)
    assert starts(record) == [0, 0, 0, 0, 2, 2, 2, 2]
    (row,) = rows(record, "tenant")
    assert (row.arrived, row.started, row.finished) == (10, 8, 4)
    assert (row.wait_p50, row.wait_max) == (2, 3)


@pytest.mark.req("NFR-6")
def test_rate_and_burst_of_a_host_hold():
    # Three at once empty the bucket; a token comes each half second, and from 0.5 to 2 it fills again.
    assert starts(lived("rate = 2\nburst = 3")) == [0, 0, 0, 0.5, 2, 2, 2, 2.5, 4, 4]


@pytest.mark.req("NFR-6")
def test_slots_of_a_host_hold():
    record = lived("concurrency = 2")
    assert starts(record) == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8]
    assert record.most_running["host", "h"] == 2


@pytest.mark.req("NFR-6")
@pytest.mark.case("S21")
def test_retry_after_pauses_the_host_for_all_and_each_job_still_ends():
    record = lived("limited = 1\nretry_after = 10", max_attempts=2)
    first, second = starts(record)[:4], starts(record)[4:8]
    assert first == [0, 0, 0, 0]
    assert second == [12, 12, 12, 12]  # all four end at 2 and ask for ten seconds
    assert {job.attempts for job in record.jobs} == {2}
    assert all(job.has_failed and job.ended_at is not None for job in record.jobs)
    assert record.violations == []


def test_failures_are_tried_again_until_the_attempts_are_used_up():
    record = lived("failures = 1", max_attempts=3)
    assert [job.attempts for job in record.jobs] == [3] * 10
    assert all(job.has_failed for job in record.jobs)


@pytest.mark.req("FR-12")
def test_a_tenant_never_runs_more_than_its_maximum():
    text = ONE_HOST.format(host="") + "\n[tenants.t]\nmax_running = 1\n"
    assert starts(simulate(parse(text))) == [2.0 * n for n in range(10)]


def test_the_same_seed_gives_the_same_record_and_another_seed_another():
    name = "requeue-storm"
    first, again, other = (starts(simulate(changed(read(name), seed=seed))) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_jobs_of_a_group_go_to_its_hosts_in_turn_and_each_tenant_hands_in_as_many():
    record = simulate(
        parse("""
        title = "groups"
        slots = 1
        tenants.t.count = 2
        hosts.h.count = 3
        arrivals = [{ tenant = "t", host = "h", jobs = 3 }, { tenant = "u", host = "h-1", every = 5, until = 11 }]
    """)
    )
    jobs = sorted((job.tenant, job.host, job.arrived_at) for job in record.jobs)
    assert jobs == [
        *(("t-1", f"h-{n}", 0) for n in (1, 2, 3)), *(("t-2", f"h-{n}", 0) for n in (1, 2, 3)),
        *(("u", "h-1", at) for at in (0, 5, 10)),
    ]  # fmt: skip


def test_a_poisson_flow_brings_as_many_as_its_rate_says():
    record = simulate(
        parse("""
        title = "poisson"
        slots = 1000
        arrivals = [{ tenant = "t", host = "h", per_s = 4, until = 1000 }]
    """)
    )
    assert len(record.jobs) == pytest.approx(4000, abs=4 * 4000**0.5)  # four standard deviations
    assert {job.started_at == job.arrived_at for job in record.jobs} == {True}


def test_arrivals_of_ones_own_come_from_a_csv_file(tmp_path: Path):
    (tmp_path / "mine.csv").write_text("at,tenant,priority,host\n1.5,b,low,h\n0.5,a,high,h\n")
    record = simulate(parse('title = "csv"\nslots = 1\narrivals = [{ csv = "mine.csv" }]', folder=tmp_path))
    assert [(job.tenant, job.priority, job.arrived_at) for job in record.jobs] == [("a", 0, 0.5), ("b", 2, 1.5)]
    assert starts(record) == [0.5, 1.5]


@pytest.mark.parametrize(
    "text",
    ["at,tenant\n1,a\n", "at,tenant,priority,host\nsoon,a,high,h\n", "at,tenant,priority,host\n1,a,urgent,h\n",
     "at,tenant,priority,host\n-1,a,high,h\n", "at,tenant,priority,host\n1,a\n",
     "at,tenant,priority,host\nnan,a,low,h\n"],
)  # fmt: skip
def test_a_csv_file_that_makes_no_sense_is_refused(text: str, tmp_path: Path):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(ScenarioError, match=r"mine\.csv"):
        simulate(parse('title = "csv"\nslots = 1\narrivals = [{ csv = "mine.csv" }]', folder=tmp_path))


def test_a_scenario_without_an_arrival_in_its_time_is_empty():
    record = simulate(
        parse("""
        title = "empty"
        slots = 1
        duration = 5
        arrivals = [{ tenant = "t", host = "h", at = 6, jobs = 1 }]
    """)
    )
    assert (record.jobs, record.starts, record.ended_at, record.jain()) == ([], [], 5, 1.0)


def test_more_jobs_than_can_be_lived_through_are_refused():
    flood = parse('title = "flood"\nslots = 1\narrivals = [{ tenant = "t", host = "h", per_s = 1e9, until = 1e9 }]')
    with pytest.raises(ScenarioError, match="more than 1,000 jobs"):
        jobs_of(flood, Random(1), most=1000)


def watch(limits: HostLimits) -> tuple[Watch, list[str]]:
    violations: list[str] = []
    return Watch(limits_of=lambda _: limits, violations=violations), violations


@pytest.mark.req("NFR-6")
def test_the_watch_sees_each_limit_that_is_exceeded():
    look, violations = watch(HostLimits(rate=1.0, burst=2.0, concurrency=2))
    look.start(0.0, "h")
    look.start(0.0, "h")
    assert violations == []
    look.start(1.0, "h")
    assert violations == ["h at 1.000 s: 3 at once"]
    look.end("h")
    look.end("h")
    look.start(1.5, "h")
    assert violations[1:] == ["h at 1.500 s: above its rate"]
    look.pause("h", 20.0)
    look.end("h")
    look.start(19.9, "h")
    assert violations[2:] == ["h at 19.900 s: while it is paused"]
    look.end("h")
    look.start(20.0, "h")
    assert len(violations) == 3


def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed():
    assert [percentile([1, 2, 3, 4], part) for part in (0.5, 0.51, 0.95, 1)] == [2, 3, 4, 4]
