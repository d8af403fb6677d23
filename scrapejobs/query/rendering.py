"""From rows to shapes: a job's status, times and reasons are worked out from where it is (ADR-0012)."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Final
from uuid import UUID

from scrapejobs.domain import job
from scrapejobs.domain.ids import day_of
from scrapejobs.domain.job import PRIORITIES, Status
from scrapejobs.domain.masking import masked_params, masked_url
from scrapejobs.gateway.shapes import links_of
from scrapejobs.query.shapes import (
    Attempt,
    Delivery,
    DeliveryTry,
    EventLinks,
    FailingEndpoint,
    FinishEvent,
    Job,
    LastError,
    Redirect,
    ResultSummary,
    WaitingFor,
)
from scrapejobs.store.jobs import Hindrances
from scrapejobs.store.run import Row

_EMPTY_EXCHANGE: Final[Row] = {}


def status_of(row: Row) -> Status:
    """The status of a row of `job/view.sql`."""
    return job.status_of(row["final_state"], is_leased=row["is_leased"])


def job_of(row: Row, *, waiting_for: WaitingFor | None, retention_days: int) -> Job:
    """A row of `job/view.sql` as clients see it."""
    status = status_of(row)
    return Job(
        id=row["id"],
        url=masked_url(row["url"]),
        params=masked_params(row["params"]),
        status=status.value,
        priority=PRIORITIES[row["priority"]],
        tags=row["tags"],
        attempts=row["attempts"] + (status is Status.RUNNING),
        max_attempts=row["max_attempts"],
        last_error=_last_error(row),
        waiting_for=waiting_for,
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        next_attempt_at=None if status.is_final else row["due_at"],
        result=_result(row, retention_days),
        links=links_of(row["id"]),
    )


def is_in_queue(row: Row) -> bool:
    """Whether a job waits for nothing that its own row tells."""
    return not (row["final_state"] or row["is_leased"] or row["published_at"] is None or row["due_at"])


def waiting_of(row: Row, hindrances: Hindrances | None) -> WaitingFor | None:
    """Why a queued job waits, as far as rows tell it now."""
    if status_of(row) is not Status.QUEUED:
        return None
    if row["published_at"] is None:
        return WaitingFor("publishing", None, "accepted, and about to be put into its queue")
    if row["due_at"] is not None:
        return WaitingFor("retry_backoff", row["due_at"], "waits for the time of its next attempt")
    if hindrances is None:
        return None
    return _held_at(row["host"], hindrances) or _held_by_turn(hindrances)


def _held_at(host: str, hindrances: Hindrances) -> WaitingFor | None:
    """What its host holds a job up with; nothing else matters while it does."""
    is_paused, until = hindrances.pause_of(host)
    if is_paused:
        return WaitingFor("host_paused", until, f"{host} is paused")
    if host in hindrances.trials:
        return WaitingFor("circuit_open", hindrances.trials[host], f"{host} failed many times in a row or is busy")
    if hindrances.has_worker and host in hindrances.crowds:
        return WaitingFor("host_limit", hindrances.crowds[host], f"{host} takes no more at once")
    return None


def _held_by_turn(hindrances: Hindrances) -> WaitingFor:
    if not hindrances.has_worker:
        return WaitingFor("no_worker", None, "no worker is there")
    if hindrances.tenant_is_full:
        return WaitingFor("tenant_turn", None, "as many jobs of the tenant run as may")
    return WaitingFor("tenant_turn", None, "others are first: queues, tenants and hosts take turns")


def attempt_of(row: Row) -> Attempt:
    """A row of `attempt/of_job.sql` as clients see it."""
    exchange = row["exchange"] or _EMPTY_EXCHANGE
    return Attempt(
        number=row["number"],
        worker=row["worker"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        outcome=row["outcome"],
        code=row["code"],
        detail=row["detail"],
        charged=row["charged"],
        target_status=row["target_status"],
        phase=row["phase"],
        bytes=row["bytes"] or 0,
        address_family=exchange.get("address_family"),
        redirects=[Redirect(hop["url"], hop["status"]) for hop in exchange.get("redirects", ())],
        wire_requests=exchange.get("wire_requests", 0),
        timings=exchange.get("timings", {}),
    )


def delivery_of(rows: Sequence[Row]) -> Delivery:
    """The rows of one delivery in `delivery/log.sql` as clients see it."""
    first = rows[0]
    failing = FailingEndpoint(first["origin"], first["failing_since"], first["off_at"], first["reason"])
    return Delivery(
        id=first["event_id"],
        status=first["told"],
        url=first["url"],
        state=first["state"],
        created_at=first["created_at"],
        next_try_at=first["next_try_at"],
        redelivered_at=first["redelivered_at"],
        endpoint=failing if first["failing_since"] else None,
        tries=[
            DeliveryTry(row["number"], row["at"], row["duration_s"], row["status"], row["error"], row["then_at"])
            for row in rows
            if row["number"] is not None
        ],
    )


def event_of(row: Row) -> FinishEvent:
    """A row of `event/feed.sql` as clients see it."""
    links = links_of(row["job_id"])
    return FinishEvent(
        event_id=row["id"],
        id=row["job_id"],
        status=row["status"],
        finished_at=row["finished_at"],
        links=EventLinks(links.self, links.result, links.attempts),
    )


def kept_until(job_id: UUID, retention_days: int) -> datetime:
    """When retention takes a job's day away: its whole day is kept for so many days."""
    first = datetime.combine(day_of(job_id), time(), UTC)
    return first + timedelta(days=retention_days + 1)


def _last_error(row: Row) -> LastError | None:
    if row["error_code"] is None:
        return None
    return LastError(row["error_class"], row["error_code"], row["error_detail"], row["error_at"])


def _result(row: Row, retention_days: int) -> ResultSummary | None:
    if row["result_key"] is None:
        return None
    return ResultSummary(
        size=row["result_size"],
        content_type=row["result_content_type"],
        sha256=row["result_sha256"],
        complete=row["result_complete"],
        expires_at=kept_until(row["id"], retention_days),
    )
