"""What reads find, for one tenant."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from scrapejobs.config import Config
from scrapejobs.domain.job import PRIORITIES, Status
from scrapejobs.gateway import cursor
from scrapejobs.gateway.problems import Problem, invalid
from scrapejobs.query.rendering import attempt_of, delivery_of, event_of, is_in_queue, job_of, waiting_of
from scrapejobs.query.shapes import AttemptList, DeliveryList, EventPage, EventQuery, Job, JobPage, ListQuery
from scrapejobs.store import deliveries, jobs
from scrapejobs.store.feed import Place, feed
from scrapejobs.store.jobs import JobFilter
from scrapejobs.store.run import Row, run


def row_of(job_id: UUID, *, tenant_id: int) -> Row:
    """The job's row. Raises `Problem` not-found, the same for another tenant's job as for none."""
    row = run(jobs.get(job_id, tenant_id=tenant_id))
    if row is None:
        raise Problem("not-found")
    return row


def read_page(query: ListQuery, *, tenant_id: int, config: Config) -> JobPage:
    """One page (FR-6). Raises `Problem` invalid-cursor."""
    wanted = _filter_of(query)
    bound: dict[str, Any] = {"tenant_id": tenant_id, "wanted": msgspec.to_builtins(wanted)}
    secret = config.secret_key.get_secret_value()
    below = None if query.cursor is UNSET else cursor.redeem(query.cursor, secret=secret, **bound)
    ids = run(jobs.page(wanted, tenant_id=tenant_id, below=below, limit=query.limit + 1))
    is_last, ids = len(ids) <= query.limit, ids[: query.limit]
    rows = run(jobs.view(ids, tenant_id=tenant_id)) if ids else []
    return JobPage(
        items=rendered(rows, tenant_id, config),
        next_cursor=None if is_last else cursor.issue(ids[-1], secret=secret, **bound),
    )


def read_attempts(job_id: UUID, *, tenant_id: int) -> AttemptList:
    """Every attempt of a job (FR-7)."""
    rows = run(jobs.attempts(job_id, tenant_id=tenant_id))
    if rows is None:
        raise Problem("not-found")
    return AttemptList([attempt_of(row) for row in rows])


def read_deliveries(job_id: UUID, *, tenant_id: int) -> DeliveryList:
    """The delivery log of a job (FR-9)."""
    found = run(deliveries.delivery_log(job_id, tenant_id=tenant_id))
    if found is None:
        raise Problem("not-found")
    return DeliveryList([delivery_of(rows) for rows in found])


def read_events(query: EventQuery, *, tenant_id: int, config: Config) -> EventPage:
    """The next finish events (FR-9). Raises `Problem` invalid-cursor."""
    bound: dict[str, Any] = {
        "tenant_id": tenant_id,
        "wanted": "events",
        "secret": config.secret_key.get_secret_value(),
    }
    after = Place() if query.after is UNSET else Place.of(cursor.redeem(query.after, **bound))
    rows = run(feed(tenant_id=tenant_id, after=after, limit=query.limit))
    last = Place(rows[-1]["xid"], rows[-1]["seq"]) if rows else after
    return EventPage([event_of(row) for row in rows], cursor.issue(last.token, **bound))


def rendered(rows: Sequence[Row], tenant_id: int, config: Config) -> list[Job]:
    """Rows as jobs. What hinders those in the queue is looked up once for all."""
    hosts = {row["host"] for row in rows if is_in_queue(row)}
    found = run(jobs.hindrances(hosts, tenant_id=tenant_id, alive_s=config.alive_s)) if hosts else None
    return [job_of(row, waiting_for=waiting_of(row, found), retention_days=config.retention_days) for row in rows]


def _filter_of(query: ListQuery) -> JobFilter:
    return JobFilter(
        status=None if query.status is UNSET else Status(query.status),
        host=None if query.host is UNSET else query.host.lower().removesuffix("."),
        priority=None if query.priority is UNSET else PRIORITIES.index(query.priority),
        tags=query.tag,
        created_after=_utc("created_after", query.created_after),
        created_before=_utc("created_before", query.created_before),
    )


def _utc(name: str, moment: datetime | UnsetType) -> datetime | None:
    """The moment in UTC: a database takes fewer offsets than RFC 3339, and no year beyond the calendar's."""
    try:
        return None if moment is UNSET else moment.astimezone(UTC)
    except OverflowError:
        raise invalid(f"?{name}", "value", "the time in UTC is not of the years 1 to 9999") from None
