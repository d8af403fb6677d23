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

CUT: Final = 0.5
GROWTH: Final = 0.01
LEAST: Final = 1 / 64
"""Additive increase, multiplicative decrease (Chiu and Jain 1989): the share is halved when the host asks for less, and
grows by a hundredth of the rate that is set with each good answer."""

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
    learns: bool = False
    """Whether the rate of a host that asks for less is cut, and grows again (`share`)."""


@dataclass(frozen=True, slots=True)
class Circuit:
    """Closed while `retry_at` is None, with the `failures` in a row. Else open until `retry_at`, and from then on
    half-open, with the `successes` in a row. `busy`: how many busy answers came since it was closed. `reason`: the code
    of the failure that opened it. `share`: of the rate that is set, what the host has shown to bear; it was last cut at
    `cut_at`.
    """

    failures: int = 0
    busy: int = 0
    successes: int = 0
    retry_at: datetime | None = None
    reason: str | None = None
    share: float = 1.0
    cut_at: datetime | None = None

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

    @property
    def asks_for_less(self) -> bool:
        """429 or 503, whether it says for how long or not."""
        return not self.is_good and self.code in _BUSY


def after(circuit: Circuit, sign: Sign, policy: CircuitPolicy) -> Circuit:
    """The circuit once `sign` is known. While it is open only trials count, attempts that began when it let them, and
    busy answers: of eight attempts at once that are told to come later, each asks for more patience.
    """
    is_limited = sign.code == "http_429" and not (sign.is_good or sign.is_busy)  # its host is paused, and is not down
    weighed = circuit if is_limited else _weighed(circuit, sign, policy)
    share, cut_at = _learned(circuit, sign) if policy.learns else (1.0, None)
    return replace(weighed, share=share, cut_at=cut_at)


def _learned(circuit: Circuit, sign: Sign) -> tuple[float, datetime | None]:
    """The share and when it was cut. An answer to what was asked before the last cut has had its effect already."""
    if sign.asks_for_less:
        is_old = circuit.cut_at is not None and sign.started_at < circuit.cut_at
        return (circuit.share, circuit.cut_at) if is_old else (max(LEAST, circuit.share * CUT), sign.ended_at)
    if not sign.is_good:
        return circuit.share, circuit.cut_at
    share = circuit.share + GROWTH
    return (share, circuit.cut_at) if share < 1 else (1.0, None)


def _weighed(circuit: Circuit, sign: Sign, policy: CircuitPolicy) -> Circuit:
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


SignKind = Literal["good", "bad", "busy", "limited"]


def sign_of(outcome: Outcome) -> SignKind | None:
    """What an outcome says about the job's own host; None when it says nothing.

    Good is any answer, a refusal too. Bad is no answer, half of one, or a server error. Busy is 429 or 503 that does
    not say for how long; limited is a 429 that does, and pauses its host. A name that was not found, our own faults,
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
    if code == "http_429":
        return "limited"
    if code in _MISTIMED or not code.startswith("http_"):
        return None
    return "good" if isinstance(failure, Permanent) else "bad"


def _redirected(exchange: Exchange | None) -> bool:
    return exchange is not None and bool(exchange.redirects)
