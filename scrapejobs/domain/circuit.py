"""A host's circuit breaker: after failures in a row, or when it says that it is busy, nothing starts for a while, then
one job at a time, as a trial.

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

BUSY_S: Final = 1.0
"""How long a host is left alone after its first busy answer; doubled with each further one in a row."""

_DOWN: Final = frozenset({"connection_refused", "connection_reset", "disconnected", "unreachable", "too_slow"})
_DAMAGED: Final = frozenset({"body_incomplete", "body_corrupt"})
_BUSY: Final = frozenset({"http_429", "http_503"})
_MISTIMED: Final = frozenset({"http_408", "http_425"})


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
    half-open, with the `successes` in a row. `busy`: how many busy answers came since it was closed. `reason`: the code
    of the failure that opened it.
    """

    failures: int = 0
    busy: int = 0
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
    is_busy: bool = False


def after(circuit: Circuit, sign: Sign, policy: CircuitPolicy) -> Circuit:
    """The circuit once `sign` is known. While it is open only trials count, attempts that began when it let them, and
    busy answers: of eight attempts at once that are told to come later, each asks for more patience.
    """
    if sign.is_busy:
        return _left_alone(circuit, sign, policy)
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


def _left_alone(circuit: Circuit, sign: Sign, policy: CircuitPolicy) -> Circuit:
    """Open for 1, 2, 4 ... seconds with each busy answer in a row, at most for the time-out."""
    rest_s = min(policy.timeout_s, BUSY_S * 2.0 ** min(circuit.busy, 60))
    retry_at = sign.ended_at + timedelta(seconds=rest_s)
    return Circuit(busy=circuit.busy + 1, retry_at=max(retry_at, circuit.retry_at or retry_at), reason=sign.code)


SignKind = Literal["good", "bad", "busy"]


def sign_of(outcome: Outcome) -> SignKind | None:
    """What an outcome says about the job's own host; None when it says nothing.

    Good is any answer, a refusal too. Bad is no answer, half of one, or a server error. Busy is 429 or 503 that does
    not say for how long; a 429 that does pauses its host and needs no guess. A name that was not found, our own faults,
    and whatever came after a redirect say nothing about it.
    """
    match outcome:
        case Stored():
            return None if outcome.exchange.redirects else "good"
        case Temporary() | Permanent():
            return None if _redirected(outcome.exchange) else _sign_of_failure(outcome)
        case _:
            return None


def _sign_of_failure(failure: Temporary | Permanent) -> SignKind | None:
    code = failure.code
    if code in _BUSY and isinstance(failure, Temporary) and not failure.retry_after_s:
        return "busy"
    if code in _DOWN or code in _DAMAGED:
        return "bad"
    if code == "timeout":
        return "bad" if failure.exchange is not None and failure.exchange.elapsed_s >= PATIENCE_S else None
    if code == "http_429" or code in _MISTIMED or not code.startswith("http_"):
        return None
    return "good" if isinstance(failure, Permanent) else "bad"


def _redirected(exchange: Exchange | None) -> bool:
    return exchange is not None and bool(exchange.redirects)
