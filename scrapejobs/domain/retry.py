"""After an attempt: settle the job or try again, and when. The one place that decides it (ADR-0004)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from scrapejobs.domain.outcome import Cancelled, Lost, Outcome, Permanent, Released, Stored, Temporary

POISON: Final = "poison"
LOST_WORKER: Final = "lost_worker"
DEADLINE_EXCEEDED: Final = "deadline_exceeded"
_MAY_HAVE_TAKEN: Final = "its worker went away; not repeated, because the target may have taken it"

OURS: Final = frozenset({"worker_error", "secrets_locked", "store_unavailable", "no_permit", "proxy_unavailable"})
"""Faults of our own side: tried again, and never counted against the job's attempts."""

NOTHING_SENT: Final = frozenset({"dns", "connect", "tls"})
"""Phases in which the target has not seen the request yet: a repeat is safe for every method."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds, and how many lost workers make a job poison."""

    base_s: float
    cap_s: float
    retry_after_cap_s: float
    max_lost: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a job stood when the attempt began, but for `remaining_s`: the seconds from its end to the deadline.
    `may_repeat`: its method is safe, or the client said so. `number`: of the attempt, counted whether charged or not.
    """

    attempts: int
    lost: int
    max_attempts: int
    remaining_s: float
    may_repeat: bool
    number: int


@dataclass(frozen=True, slots=True)
class Reason:
    """Why: class, code and text as shown to the client."""

    cls: Literal["temporary", "permanent"]
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of the job. `delay_s` counts only for `queued`; 0 means at once, at the front."""

    next: Literal["succeeded", "failed", "queued"]
    delay_s: float = 0.0
    charged: bool = True
    lost: bool = False
    reason: Reason | None = None
    host_pause_s: float | None = None


def backoff_s(attempt: int, policy: RetryPolicy, random: Callable[[], float]) -> float:
    """Exponential backoff with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"): evenly spread
    over 0 to base x 2^(attempt - 1), capped. `attempt` counts from 1; `random` gives [0, 1).
    """
    return random() * min(policy.cap_s, policy.base_s * 2.0 ** min(attempt - 1, 60))


def plan(outcome: Outcome, standing: Standing, policy: RetryPolicy, *, random: Callable[[], float]) -> Plan:
    """Decides from facts alone; the clock is the caller's."""
    match outcome:
        case Stored():
            return Plan("succeeded")
        case Permanent():
            return Plan("failed", reason=Reason("permanent", outcome.code, outcome.detail))
        case Temporary():
            return _after_temporary(outcome, standing, policy, random)
        case Lost():
            return _after_lost(standing, policy)
        case Released(sent=True) if not standing.may_repeat:
            return Plan("failed", charged=False, reason=Reason("temporary", LOST_WORKER, _MAY_HAVE_TAKEN))
        case Released() | Cancelled():
            return Plan("queued", charged=False)


def _after_temporary(outcome: Temporary, standing: Standing, policy: RetryPolicy, random: Callable[[], float]) -> Plan:
    charged = outcome.code not in OURS
    attempts = standing.attempts + charged
    pause_s = min(outcome.retry_after_s, policy.retry_after_cap_s) if outcome.retry_after_s else None
    reason = Reason("temporary", outcome.code, outcome.detail)
    if attempts >= standing.max_attempts and charged:
        return Plan("failed", reason=reason, host_pause_s=pause_s)
    if not standing.may_repeat and outcome.phase not in NOTHING_SENT:
        detail = f"{outcome.detail}; not repeated, because the target could take it as a new action"
        return Plan("failed", charged=charged, reason=Reason("temporary", outcome.code, detail), host_pause_s=pause_s)
    # What is not charged must back off all the same, or a fault of ours would hit the target again and again.
    delay_s = max(backoff_s(attempts if charged else standing.number, policy, random), pause_s or 0.0)
    delay_s = max(delay_s, 0.001)  # 0 would mean the front
    if delay_s >= standing.remaining_s:
        return Plan("failed", charged=charged, reason=_overdue(outcome, charged=charged), host_pause_s=pause_s)
    return Plan("queued", delay_s=delay_s, charged=charged, reason=reason, host_pause_s=pause_s)


def _overdue(outcome: Temporary, *, charged: bool) -> Reason:
    """Why a job fails that cannot try again before its deadline. A fault of ours keeps its own code: the job must not
    be blamed, and whoever works through the dead letters finds them together.
    """
    detail = f"the deadline is before the next attempt; the last one: {outcome.detail}"
    return Reason("permanent", DEADLINE_EXCEEDED, detail) if charged else Reason("temporary", outcome.code, detail)


def _after_lost(standing: Standing, policy: RetryPolicy) -> Plan:
    if standing.lost + 1 >= policy.max_lost:
        reason = Reason("permanent", POISON, f"{standing.lost + 1} workers were lost at it")
    elif not standing.may_repeat:
        reason = Reason(
            "temporary",
            LOST_WORKER,
            "its worker was lost; not repeated, because the target may have taken it",
        )
    elif standing.remaining_s <= 0:
        reason = Reason("permanent", DEADLINE_EXCEEDED, "the deadline passed while its worker was lost")
    else:
        return Plan("queued", charged=False, lost=True, reason=Reason("temporary", LOST_WORKER, "its worker was lost"))
    return Plan("failed", charged=False, lost=True, reason=reason)
