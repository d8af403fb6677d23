"""The life of a job: its states, what moves it, and nothing else.

A job is unfinished until `final_state` is set. What an unfinished job does is said by the one place that holds it
(ADR-0012): unpublished, queued, delayed, ready or lease. `Status` is what the API shows of that.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PRIORITIES: Final = ("high", "normal", "low")
"""The three queues; a priority's index is its number in the database."""


class Status(StrEnum):
    """What a client sees (requirements, "Life of a job")."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in FINAL


FINAL: Final = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED})


def status_of(final_state: str | None, *, is_leased: bool) -> Status:
    """What the API shows of a job: its final state, else whether it runs or waits."""
    return Status(final_state) if final_state else Status.RUNNING if is_leased else Status.QUEUED


@dataclass(frozen=True, slots=True)
class Transition:
    """One arrow: the verb of `store.transitions` that moves a job, from where, to where, and when."""

    source: Status
    verb: str
    target: Status
    when: str = ""


TRANSITIONS: Final = (
    Transition(Status.QUEUED, "publish", Status.QUEUED, "from unpublished into its queue"),
    Transition(Status.QUEUED, "dispatch", Status.QUEUED, "from its queue to ready: it may start"),
    Transition(Status.QUEUED, "take_back", Status.QUEUED, "from ready to its queue: no worker took it in time"),
    Transition(Status.QUEUED, "hold_back", Status.QUEUED, "from ready to its queue: its host was paused"),
    Transition(Status.QUEUED, "promote", Status.QUEUED, "from delayed to its queue: the retry is due"),
    Transition(Status.QUEUED, "claim", Status.RUNNING, "a worker takes a lease"),
    Transition(Status.QUEUED, "cancel", Status.CANCELLED),
    Transition(Status.QUEUED, "expire", Status.FAILED, "its deadline passed before it could start"),
    Transition(Status.RUNNING, "renew", Status.RUNNING, "the worker is alive"),
    Transition(Status.RUNNING, "report", Status.SUCCEEDED, "the object can be read"),
    Transition(Status.RUNNING, "report", Status.FAILED, "permanent, or attempts, deadline or lost workers used up"),
    Transition(Status.RUNNING, "report", Status.QUEUED, "retry after backoff, lease lost, or handed back"),
    Transition(Status.RUNNING, "cancel", Status.CANCELLED),
    Transition(Status.FAILED, "requeue", Status.QUEUED, "a person sends a dead letter back"),
    Transition(Status.FAILED, "discard", Status.FAILED, "a person puts a dead letter aside"),
)


def targets(source: Status, verb: str) -> frozenset[Status]:
    """Where a verb may take a job from a state: empty when it must change nothing."""
    return frozenset(t.target for t in TRANSITIONS if t.source == source and t.verb == verb)
