"""Webhooks on their way (FR-9)."""

from datetime import datetime
from uuid import UUID

from scrapejobs.store.run import Row, Statement, Steps, verb


@verb()
def claim_deliveries(*, limit: int, claim_s: float, now: datetime | None = None) -> Steps[list[Row]]:
    """Deliveries whose time has come, as rows of `delivery/claim.sql`."""
    return (yield Statement("delivery/claim", {"limit": limit, "claim_s": claim_s, "now": now}))


@verb()
def note_delivery(
    event_id: UUID, *, tries: int, state: str, status: int | None, error: str | None, delay_s: float | None
) -> Steps[bool]:
    """Notes how a try went; False when another courier was first."""
    params = {"event_id": event_id, "tries": tries, "state": state, "status": status, "error": error}
    return bool((yield Statement("delivery/note", {**params, "delay_s": delay_s})))
