"""What the loops keep in order: finish events, expired leases, overdue jobs, and what is old or silent."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from scrapejobs.store.run import Row, Statement, Steps, verb


@verb()
def expired(*, limit: int, now: datetime | None = None) -> Steps[list[Row]]:
    """Leases that ran out, as rows of `lease/expired.sql`."""
    return (yield Statement("lease/expired", {"limit": limit, "now": now}))


@verb()
def overdue(*, limit: int) -> Steps[list[UUID]]:
    """Jobs that wait though their deadline has passed."""
    return [row["id"] for row in (yield Statement("job/overdue", {"limit": limit}))]


@verb()
def next_retry_s() -> Steps[float | None]:
    """Seconds until the next retry is due."""
    rows = yield Statement("delayed/next", {})
    return float(rows[0]["in_s"]) if rows else None


@verb()
def finish(event_ids: Sequence[UUID]) -> Steps[list[Row]]:
    """Writes finish events for up to as many final jobs as ids are given; rows of `job/finish.sql` (P6)."""
    return (yield Statement("job/finish", {"event_ids": list(event_ids), "job_ids": None}))


@verb()
def expire_receipts(*, ttl_s: float, limit: int) -> Steps[int]:
    return len((yield Statement("receipt/expire", {"receipt_ttl_s": ttl_s, "limit": limit})))


@verb()
def forget_services(*, after_s: float) -> Steps[int]:
    return len((yield Statement("service/forget", {"after_s": after_s})))


@verb()
def forget_usage(*, keep_s: float) -> Steps[int]:
    return len((yield Statement("usage/forget", {"keep_s": keep_s})))


@verb()
def forget_hosts() -> Steps[int]:
    return len((yield Statement("host/forget", {})))
