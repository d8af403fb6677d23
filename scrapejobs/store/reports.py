"""How ended attempts are told to `lease/report.sql`: outcome, plan and fence become one row each."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final
from uuid import UUID

import msgspec

from scrapejobs.domain.outcome import Exchange, Lost, Outcome, Permanent, Released, Stored, Temporary
from scrapejobs.domain.retry import Plan

_NAMES: Final = {
    Stored: "stored",
    Temporary: "temporary",
    Permanent: "permanent",
    Released: "released",
    Lost: "lost",
}


@dataclass(frozen=True, slots=True)
class Report:
    """One ended attempt. `expired_only`: the sweeper speaks for a worker, so the lease must still be past its end."""

    seq: int
    job_id: UUID
    outcome: Outcome
    plan: Plan
    expired_only: bool = False


def rows_of(reports: Sequence[Report]) -> str:
    """The JSON array that `lease/report.sql` takes."""
    return msgspec.json.encode([_row(report) for report in reports]).decode()


def _row(report: Report) -> dict[str, Any]:
    outcome, plan = report.outcome, report.plan
    exchange = getattr(outcome, "exchange", None) or Exchange()
    row = {
        "seq": report.seq,
        "job_id": report.job_id,
        "expired_only": report.expired_only,
        "next": plan.next,
        "delay_s": plan.delay_s,
        "charged": plan.charged,
        "lost": plan.lost,
        "host_pause_s": plan.host_pause_s,
        "outcome": _NAMES.get(type(outcome), "cancelled"),
        "code": getattr(outcome, "code", None),
        "detail": getattr(outcome, "detail", None),
        "phase": getattr(outcome, "phase", None) or exchange.phase,
        "target_status": exchange.target_status,
        "bytes": exchange.bytes_read,
        "exchange": {**asdict(replace(exchange, timings={})), "timings": dict(exchange.timings)},
    }
    if plan.reason:
        row |= {
            "error_class": plan.reason.cls,
            "error_code": plan.reason.code,
            "error_detail": plan.reason.detail,
        }
    if isinstance(outcome, Stored) and plan.next == "succeeded":
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
