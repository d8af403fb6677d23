"""How ended attempts are told to `lease/report.sql`: outcome, plan and fence become one row each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg

from scrapejobs.domain.circuit import sign_of
from scrapejobs.domain.outcome import Exchange, Lost, Outcome, Permanent, Released, Stored, Temporary
from scrapejobs.domain.retry import RetryPolicy, Standing, plan
from scrapejobs.store.link import Link
from scrapejobs.store.run import Row, Verb

_NAMES: Final = {
    Stored: "stored",
    Temporary: "temporary",
    Permanent: "permanent",
    Released: "released",
    Lost: "lost",
}


SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""What a target cannot take as a new action (RFC 9110, section 9.2.1), so that a repeat does no harm."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One ended attempt. `expired_only`: the sweeper speaks for a worker, so the lease must still be past its end."""

    seq: int
    job_id: UUID
    outcome: Outcome
    standing: Standing
    expired_only: bool = False


ReportVerb = Callable[[Sequence[Ended]], Verb[dict[int, Row]]]
"""`transitions.report` with its policy: the one door through which attempts end."""


def ended(claimed: Row, outcome: Outcome, *, expired_only: bool = False) -> Ended:
    """The end of an attempt that a row of `ready/claim.sql` or `lease/expired.sql` describes."""
    params = claimed["params"]
    standing = Standing(
        attempts=claimed["attempts"],
        lost=claimed["lost"],
        max_attempts=claimed["max_attempts"],
        remaining_s=claimed["remaining_s"],
        number=claimed["number"],
        may_repeat=params.get("method") in SAFE_METHODS or params.get("retry_unsafe", False),
    )
    return Ended(claimed["seq"], claimed["job_id"], outcome, standing, expired_only)


async def tell_all(
    link: Link, report: ReportVerb, attempts: Sequence[Ended], *, on_error: Callable[[Exception], None]
) -> dict[int, Row]:
    """Reports attempts in one statement: the rows of `transitions.report`. If one cannot be told at all (a bug, such as
    a text that Postgres refuses), each is told alone, and that one as a failure of ours; if not even that can be told,
    its lease stands and it is left out (cases S11, S16). Raises `psycopg.OperationalError` when none could be told.
    """
    try:
        return await link.run(report(attempts))
    except psycopg.OperationalError:
        raise  # the surroundings: all of them are told again
    except Exception as error:  # noqa: BLE001 - one job must not keep the others from being told
        if len(attempts) > 1:
            alone = [await tell_all(link, report, [one], on_error=on_error) for one in attempts]
            return {seq: row for rows in alone for seq, row in rows.items()}
        on_error(error)
        if attempts[0].outcome == (fault := _unreportable(error)):
            return {}
        return await tell_all(link, report, [replace(attempts[0], outcome=fault)], on_error=on_error)


def _unreportable(error: Exception) -> Temporary:
    return Temporary("worker_error", f"the attempt could not be reported: {type(error).__name__}")


def rows_of(attempts: Sequence[Ended], *, policy: RetryPolicy, random: Callable[[], float]) -> str:
    """The JSON array that `lease/report.sql` takes: what happened, and what the planner makes of it."""
    return msgspec.json.encode([_row(attempt, policy, random) for attempt in attempts]).decode()


def _row(attempt: Ended, policy: RetryPolicy, random: Callable[[], float]) -> dict[str, Any]:
    outcome, next_ = attempt.outcome, plan(attempt.outcome, attempt.standing, policy, random=random)
    exchange = getattr(outcome, "exchange", None) or Exchange()
    row = {
        "seq": attempt.seq,
        "job_id": attempt.job_id,
        "expired_only": attempt.expired_only,
        "next": next_.next,
        "delay_s": next_.delay_s,
        "charged": next_.charged,
        "lost": next_.lost,
        "host_pause_s": next_.host_pause_s,
        "host_sign": sign_of(outcome),
        "outcome": _NAMES.get(type(outcome), "cancelled"),
        "code": getattr(outcome, "code", None),
        "detail": getattr(outcome, "detail", None),
        "phase": getattr(outcome, "phase", None) or exchange.phase,
        "target_status": exchange.target_status,
        "bytes": exchange.bytes_read,
        "exchange": exchange,
    }
    if next_.reason:
        row |= {
            "error_class": next_.reason.cls,
            "error_code": next_.reason.code,
            "error_detail": next_.reason.detail,
        }
    if isinstance(outcome, Stored):
        row |= _result(outcome)
    return row


def _result(outcome: Stored) -> dict[str, Any]:
    result = outcome.result
    meta = {
        "status": result.status,
        "final_url": result.final_url,
        "charset": result.charset,
        "headers": result.headers,
        "flags": result.flags,
    }
    return {
        "result_key": result.key,
        "result_size": result.size,
        "result_sha256": result.sha256,
        "result_content_type": result.content_type,
        "result_complete": result.complete,
        "result_meta": meta,
    }
