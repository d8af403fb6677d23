"""A host's circuit breaker: after failures in a row nothing starts for a while, then one job at a time, as a trial.

Pure: a `Circuit` says all that must outlive a dispatcher, and times come in as arguments. (NFR-6, FR-11; requirements,
"Life of a job")
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from scrapejobs.domain.outcome import Exchange, Outcome, Permanent, Stored, Temporary

PATIENCE_S: Final = 10.0
"""A time-out sooner than this is the job's own short patience and says nothing about the host."""

_DOWN: Final = frozenset({"connection_refused", "connection_reset", "disconnected", "unreachable", "too_slow"})
_DAMAGED: Final = frozenset({"body_incomplete", "body_corrupt"})
_RATE_LIMITED: Final = frozenset({"http_408", "http_425", "http_429"})


@dataclass(frozen=True, slots=True)
class CircuitPolicy:
    """Opens after `error_threshold` failures in a row, tries again after `timeout_s`, closes after `success_threshold`
    good trials.
    """

    error_threshold: int
    success_threshold: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Circuit:
    """Closed while `retry_at` is None, with the `failures` in a row. Else open until `retry_at`, and from then on
    half-open, with the `successes` in a row. `reason`: the code of the failure that opened it.
    """

    failures: int = 0
    successes: int = 0
    retry_at: datetime | None = None
    reason: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it holds jobs back: open, or half-open."""
        return self.retry_at is not None


CLOSED: Final = Circuit()


@dataclass(frozen=True, slots=True)
class Sign:
    """What an ended attempt says about its host. `code`: of its failure."""

    is_good: bool
    code: str | None
    started_at: datetime
    ended_at: datetime


def after(circuit: Circuit, sign: Sign, policy: CircuitPolicy) -> Circuit:
    """The circuit once `sign` is known. While it is open only trials count: attempts that began when it let them."""
    if circuit.retry_at is None:
        if sign.is_good:
            return CLOSED
        failed = replace(circuit, failures=circuit.failures + 1)
        return _opened(sign, policy) if failed.failures >= policy.error_threshold else failed
    if sign.started_at < circuit.retry_at:
        return circuit
    if not sign.is_good:
        return _opened(sign, policy)
    tried = replace(circuit, successes=circuit.successes + 1)
    return CLOSED if tried.successes >= policy.success_threshold else tried


def after_all(circuit: Circuit, signs: Iterable[Sign], policy: CircuitPolicy) -> Circuit:
    """The circuit once all of `signs` are known, in their order."""
    for sign in signs:
        circuit = after(circuit, sign, policy)
    return circuit


def _opened(sign: Sign, policy: CircuitPolicy) -> Circuit:
    return Circuit(retry_at=sign.ended_at + timedelta(seconds=policy.timeout_s), reason=sign.code)


def sign_of(outcome: Outcome) -> Literal["good", "bad"] | None:
    """What an outcome says about the job's own host; None when it says nothing.

    Good is any answer, a refusal too. Bad is no answer, half of one, or a server error. A rate limit, a name that was
    not found, our own faults, and whatever came after a redirect say nothing about it.
    """
    match outcome:
        case Stored():
            return None if outcome.exchange.redirects else "good"
        case Temporary() | Permanent():
            return None if _redirected(outcome.exchange) else _sign_of_failure(outcome)
        case _:
            return None


def _sign_of_failure(failure: Temporary | Permanent) -> Literal["good", "bad"] | None:
    code = failure.code
    if code in _DOWN or code in _DAMAGED:
        return "bad"
    if code == "timeout":
        return "bad" if failure.exchange is not None and failure.exchange.elapsed_s >= PATIENCE_S else None
    if code in _RATE_LIMITED or not code.startswith("http_"):
        return None
    return "good" if isinstance(failure, Permanent) else "bad"


def _redirected(exchange: Exchange | None) -> bool:
    return exchange is not None and bool(exchange.redirects)
