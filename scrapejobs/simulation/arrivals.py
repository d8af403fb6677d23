"""When which jobs come in: a scenario's arrivals, drawn from its seed, in the order of their times."""

import csv
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Final

from scrapejobs.domain.job import PRIORITIES
from scrapejobs.simulation.record import Job
from scrapejobs.simulation.scenario import Arrivals, Scenario, ScenarioError, members

COLUMNS: Final = ("at", "tenant", "priority", "host")

MOST: Final = 1_000_000
"""More jobs than that take minutes and gigabytes."""


def jobs_of(scenario: Scenario, random: Random, *, most: int = MOST) -> list[Job]:
    """All jobs of a scenario, by arrival; those of one moment in the order of the file, tenants of a group in turn.
    ScenarioError when a CSV file cannot be read, or when they are more than `most`.
    """
    arriving = (job for arrivals in scenario.arrivals for job in _jobs_of(arrivals, scenario, random))
    jobs = list(islice(arriving, most + 1))
    if len(jobs) > most:
        raise ScenarioError(f"more than {most:,} jobs come in")
    return sorted((job for job in jobs if job.arrived_at < scenario.end), key=lambda job: job.arrived_at)


def _jobs_of(arrivals: Arrivals, scenario: Scenario, random: Random) -> Iterator[Job]:
    if arrivals.csv is not None:
        yield from _from_csv(Path(scenario.folder) / arrivals.csv)
        return
    priority = PRIORITIES.index(arrivals.priority)
    for tenant in members(arrivals.tenant, scenario.tenants.get(arrivals.tenant)):
        hosts = cycle(members(arrivals.host, scenario.hosts.get(arrivals.host)))
        for at in _times(arrivals, scenario.end, random):
            yield Job(tenant=tenant, priority=priority, host=next(hosts), arrived_at=at)


def _times(arrivals: Arrivals, end: float, random: Random) -> Iterator[float]:
    if arrivals.jobs is not None:
        yield from (arrivals.at for _ in range(arrivals.jobs))
        return
    until = end if arrivals.until is None else min(end, arrivals.until)
    step = 0
    at = arrivals.at if arrivals.every else arrivals.at + random.expovariate(arrivals.per_s or 1.0)
    while at < until:
        yield at
        step += 1
        at = arrivals.at + step * arrivals.every if arrivals.every else at + random.expovariate(arrivals.per_s or 1.0)


def _from_csv(path: Path) -> Iterator[Job]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if missing := set(COLUMNS).difference(reader.fieldnames or ()):
                raise ScenarioError(f"{path}: the first line must name the columns {', '.join(sorted(missing))}")
            for row in reader:
                yield _from_row(row, f"{path}, line {reader.line_num}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ScenarioError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _from_row(row: dict[str, str], where: str) -> Job:
    try:
        at, priority = float(row["at"]), PRIORITIES.index(row["priority"])
    except (TypeError, ValueError):
        raise ScenarioError(
            f"{where}: `at` is a number of seconds, `priority` one of {', '.join(PRIORITIES)}"
        ) from None
    if not 0 <= at < float("inf") or not row["tenant"] or not row["host"]:
        raise ScenarioError(f"{where}: `at` is 0 or more, tenant and host are not empty")
    return Job(tenant=row["tenant"], priority=priority, host=row["host"], arrived_at=at)
