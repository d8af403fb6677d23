"""What the charts of a page show, as points: how much is finished, and how old the queues are, over time."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scrapejobs.domain.job import PRIORITIES
from scrapejobs.simulation.record import Job, Record

SAMPLES: Final = 120
MOST_LINES: Final = 7
"""More lines than that cannot be told apart: the tenants with the fewest jobs become one."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: `values` at the times of `Timeline.times`."""

    name: str
    values: list[float]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lines over one time axis, in seconds."""

    times: list[float]
    lines: list[Series]


def finished_by_tenant(record: Record) -> Timeline:
    """How many jobs of each tenant have ended so far."""
    times = _times(record)
    line_of = _lines(record)
    ends: dict[str, list[float]] = {line: [] for line in line_of.values()}
    for job in record.jobs:
        if job.ended_at is not None:
            ends[line_of[job.tenant]].append(job.ended_at)
    return Timeline(times, [Series(line, _counts(sorted(ended), times)) for line, ended in ends.items()])


def queue_age(record: Record) -> Timeline:
    """How long the job that waits longest for its first start has waited, by priority; 0 when none waits."""
    times = _times(record)
    by_priority: dict[int, list[Job]] = {}
    for job in record.jobs:  # earliest first
        by_priority.setdefault(job.priority, []).append(job)
    ordered = sorted(by_priority.items())
    return Timeline(times, [Series(PRIORITIES[priority], _ages(jobs, times)) for priority, jobs in ordered])


def _times(record: Record) -> list[float]:
    return [record.ended_at * step / SAMPLES for step in range(SAMPLES + 1)]


def _lines(record: Record) -> dict[str, str]:
    """Tenant to line: its own for the tenants with the most jobs, one for all others."""
    counts = Counter(job.tenant for job in record.jobs)
    ranked = [tenant for tenant, _ in counts.most_common()]
    n_own = len(ranked) if len(ranked) <= MOST_LINES else MOST_LINES - 1
    rest = f"{len(ranked) - n_own} others"
    return {tenant: tenant if rank < n_own else rest for rank, tenant in enumerate(ranked)}


def _counts(ended: list[float], times: list[float]) -> list[float]:
    return [bisect_right(ended, time) for time in times]


def _ages(jobs: Iterable[Job], times: list[float]) -> list[float]:
    """The first job to have arrived of those that wait at a time says the age; so each time is settled once."""
    ages = dict.fromkeys(times, 0.0)
    open_times = list(times)
    for job in jobs:
        first = bisect_left(open_times, job.arrived_at)
        last = len(open_times) if job.started_at is None else bisect_left(open_times, job.started_at)
        for time in open_times[first:last]:
            ages[time] = time - job.arrived_at
        del open_times[first:last]
    return list(ages.values())
