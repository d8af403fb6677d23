"""A history sorted by job: all that is known of one, in one place."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from tests.chaos.history import Attempt, Call, Event, History, Hit, Job

T = TypeVar("T", Attempt, Event, Call)


@dataclass(frozen=True)
class Dossier:
    """All that is known of one job."""

    job: Job
    history: History
    attempts: tuple[Attempt, ...]
    events: tuple[Event, ...]
    hits: tuple[Hit, ...]
    calls: tuple[Call, ...]
    asked: Counter[tuple[str, str]]

    @cached_property
    def n_requeues(self) -> int:
        """At most: one whose answer is unknown may have been done."""
        return self.asked["requeue", "ok"] + self.asked["requeue", "unknown"]

    @cached_property
    def outcomes(self) -> Counter[str]:
        return Counter(attempt.outcome for attempt in self.attempts)

    def says(self, what: str) -> str:
        return f"job {self.job.id} ({self.job.path}): {what}"


def dossiers_of(history: History) -> list[Dossier]:
    """One for each job."""
    attempts, events, calls = _by_job(history.attempts), _by_job(history.events), _by_job(history.calls)
    hits: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in history.hits:
        hits[hit.path].append(hit)
    asked: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for one in history.asked:
        if one.job_id is not None:
            asked[one.job_id][one.what, one.result] += 1
    return [
        Dossier(
            job,
            history,
            tuple(sorted(attempts[job.id], key=lambda attempt: attempt.number)),
            tuple(events[job.id]),
            tuple(hits[job.path]),
            tuple(calls[job.id]),
            asked[job.id],
        )
        for job in history.jobs
    ]


def _by_job(items: Iterable[T]) -> defaultdict[str | None, list[T]]:
    grouped: defaultdict[str | None, list[T]] = defaultdict(list)
    for item in items:
        grouped[item.job_id].append(item)
    return grouped
