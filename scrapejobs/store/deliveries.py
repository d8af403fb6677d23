"""Webhooks on their way (FR-9)."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from uuid import UUID

from scrapejobs.domain.ids import first_of_day
from scrapejobs.store.run import Row, Statement, Steps, verb


@verb()
def claim_deliveries(
    *, limit: int, claim_s: float, per_endpoint: int, busy: Sequence[str] = (), now: datetime | None = None
) -> Steps[list[Row]]:
    """Deliveries whose time has come, as rows of `delivery/claim.sql`; `busy`: the endpoints of posts under way."""
    params = {"limit": limit, "claim_s": claim_s, "per_endpoint": per_endpoint, "busy": list(busy), "now": now}
    return (yield Statement("delivery/claim", params))


@verb()
def note_delivery(
    event_id: UUID, *, tries: int, state: str, status: int | None, error: str | None, delay_s: float | None
) -> Steps[bool]:
    """Notes how a try went; False when another courier was first."""
    params = {"event_id": event_id, "tries": tries, "state": state, "status": status, "error": error}
    return bool((yield Statement("delivery/note", {**params, "delay_s": delay_s})))


@verb()
def forget_deliveries(day: date) -> Steps[int]:
    """Removes the deliveries of events of that day and before; how many. Their events are gone, too (NFR-9)."""
    rows = yield Statement("delivery/forget", {"to_id": first_of_day(day + timedelta(days=1))})
    return len(rows)
