"""What happened in a simulation: each job, and each start. Questions to it are answered from these alone."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Final, Literal

from scrapejobs.domain.job import PRIORITIES

Kind = Literal["tenant", "priority", "host"]
KINDS: Final[tuple[Kind, ...]] = ("tenant", "priority", "host")


@dataclass(slots=True, eq=False)
class Job:
    """One job. `ahead`: how many jobs of other tenants started between its arrival and its own first start.

    `lasts`: how many seconds each of its attempts takes, if that is known; all but the last one fail, and that one too
    if it `fails`.
    """

    tenant: str
    priority: int
    host: str
    arrived_at: float
    started_at: float | None = None  # first
    ended_at: float | None = None  # for good
    has_failed: bool = False
    attempts: int = 0
    ahead: int = 0
    lasts: tuple[float, ...] = ()
    fails: bool = False

    def name(self, kind: Kind) -> str:
        """Of its tenant, priority or host."""
        if kind == "priority":
            return PRIORITIES[self.priority]
        return self.tenant if kind == "tenant" else self.host


@dataclass(slots=True)
class Record:
    """What was seen. `starts` has each attempt, in order; `violations` each start that a host's limits forbid."""

    jobs: list[Job]
    weight_of: Callable[[str], float]
    starts: list[tuple[float, Job]] = field(default_factory=list)
    most_running: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    ended_at: float = 0.0

    def wait_s(self, job: Job) -> float:
        """From arrival to the first start; of a job that has not started, so far."""
        return (self.ended_at if job.started_at is None else job.started_at) - job.arrived_at

    def started(self, *, since: float = 0.0, until: float = inf) -> Iterator[Job]:
        """The jobs of the attempts that started from `since` on and before `until`."""
        return (job for at, job in self.starts if since <= at < until)

    def finished(self, *, since: float = 0.0, until: float = inf) -> Iterator[Job]:
        """The jobs that ended for good from `since` on and before `until`."""
        return (job for job in self.jobs if job.ended_at is not None and since <= job.ended_at < until)

    def jain(self, *, since: float = 0.0, until: float = inf) -> float:
        """Jain's index of the starts of all tenants, each divided by its weight: 1 when shared exactly by weight, 1/n
        when one of n tenants has all (Jain, Chiu and Hawe, 1984).
        """
        counts = Counter(job.tenant for job in self.started(since=since, until=until))
        served = [counts[tenant] / self.weight_of(tenant) for tenant in {job.tenant for job in self.jobs}]
        squares = sum(share * share for share in served)
        return sum(served) ** 2 / (len(served) * squares) if squares else 1.0


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one tenant, priority or host. Waits in seconds; `share` is that of all starts."""

    kind: Kind
    name: str
    arrived: int
    started: int
    finished: int
    failed: int
    attempts: int
    share: float
    most_running: int
    wait_p50: float
    wait_p95: float
    wait_max: float


def rows(record: Record, kind: Kind) -> list[Row]:
    """One row for each tenant, priority or host that had jobs; priorities in their order, the others by name."""
    by_name: dict[str, list[Job]] = {}
    for job in record.jobs:
        by_name.setdefault(job.name(kind), []).append(job)
    order = PRIORITIES.index if kind == "priority" else _natural
    return [_row(record, kind, name, by_name[name]) for name in sorted(by_name, key=order)]


def _row(record: Record, kind: Kind, name: str, jobs: Sequence[Job]) -> Row:
    waits = sorted(record.wait_s(job) for job in jobs)
    attempts = sum(job.attempts for job in jobs)
    return Row(
        kind=kind,
        name=name,
        arrived=len(jobs),
        started=_count(job.started_at is not None for job in jobs),
        finished=_count(job.ended_at is not None for job in jobs),
        failed=_count(job.has_failed for job in jobs),
        attempts=attempts,
        share=round(attempts / len(record.starts), 4) if record.starts else 0.0,
        most_running=record.most_running[kind, name],
        wait_p50=round(percentile(waits, 0.5), 3),
        wait_p95=round(percentile(waits, 0.95), 3),
        wait_max=round(waits[-1], 3),
    )


def percentile(ordered: Sequence[float], part: float) -> float:
    """The smallest value that at least `part` of all do not exceed (nearest rank)."""
    return ordered[max(0, ceil(part * len(ordered)) - 1)]


def _count(facts: Iterable[bool]) -> int:
    return sum(facts)


def _natural(name: str) -> tuple[str, int]:
    """`t-2` before `t-10`."""
    head, _, number = name.rpartition("-")
    return (head, int(number)) if number.isdecimal() else (name, 0)
