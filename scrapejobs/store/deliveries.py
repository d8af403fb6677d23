"""Webhooks on their way, and the log of their tries (FR-9)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Final, Literal
from uuid import UUID

from scrapejobs.domain.ids import first_of_day
from scrapejobs.store.run import Row, Statement, Steps, verb

BATCH: Final = 500
State = Literal["pending", "delivered", "given_up"]


@dataclass(frozen=True, slots=True)
class Try:
    """How one try ended. `delay_s`: until the next one; None: there is none."""

    state: State
    duration_s: float
    status: int | None = None
    error: str | None = None
    delay_s: float | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which deliveries; what is None does not narrow. The times are those of their events, both included."""

    state: State
    until: datetime
    tenant_id: int | None = None
    origin: str | None = None
    since: datetime | None = None


@verb()
def claim_deliveries(
    *, limit: int, claim_s: float, per_origin: int, busy: Sequence[str] = (), now: datetime | None = None
) -> Steps[list[Row]]:
    """Deliveries whose time has come, as rows of `delivery/claim.sql`; `busy`: the origins of posts under way."""
    params = {"limit": limit, "claim_s": claim_s, "per_origin": per_origin, "busy": list(busy), "now": now}
    return (yield Statement("delivery/claim", params))


@verb()
def note_delivery(event_id: UUID, *, number: int, ended: Try, endpoint: bytes | None) -> Steps[bool]:
    """Notes how a try went; False when a later try has taken its place."""
    params = {"event_id": event_id, "number": number, "endpoint": endpoint, **asdict(ended)}
    rows = yield Statement("delivery/note", params)
    return bool(rows and rows[0]["is_noted"])


@verb()
def release_delivery(
    event_id: UUID, *, number: int, error: str, duration_s: float, delay_s: float | None
) -> Steps[None]:
    """Gives a try back that ended through us: it is not charged, and made again in `delay_s`, or as its claim ends."""
    params = {"event_id": event_id, "number": number, "error": error, "duration_s": duration_s, "delay_s": delay_s}
    yield Statement("delivery/release", params)


@verb()
def delivery_log(job_id: UUID, *, tenant_id: int) -> Steps[list[list[Row]] | None]:
    """The rows of `delivery/log.sql`, those of one delivery together; None when the tenant has no such job."""
    rows = yield Statement("delivery/log", {"id": job_id, "tenant_id": tenant_id})
    if not rows:
        return None
    return [list(tries) for event_id, tries in groupby(rows, key=itemgetter("event_id")) if event_id is not None]


@verb()
def redeliver(job_id: UUID, *, tenant_id: int) -> Steps[Literal["sent", "no-delivery"] | None]:
    """Sends the latest finish event of a job again; None when the tenant has no such job."""
    rows = yield Statement("delivery/redeliver_latest", {"job_id": job_id, "tenant_id": tenant_id})
    if not rows:
        return None
    return "no-delivery" if rows[0]["event_id"] is None else "sent"


@verb()
def redeliver_all(event_ids: Sequence[UUID]) -> Steps[list[UUID]]:
    """Sends these events again; those whose deliveries are still kept."""
    return [row["event_id"] for row in (yield Statement("delivery/redeliver", {"event_ids": list(event_ids)}))]


@verb()
def matching(which: Filter, *, after: UUID | None, limit: int) -> Steps[list[UUID]]:
    """The next events whose deliveries match, oldest first."""
    rows = yield Statement("delivery/matching", {**asdict(which), "after": after, "limit": limit})
    return [row["event_id"] for row in rows]


@verb()
def n_matching(which: Filter) -> Steps[int]:
    """How many deliveries match."""
    return int((yield Statement("delivery/n_matching", asdict(which)))[0]["n"])


@verb()
def forget_deliveries(day: date) -> Steps[int]:
    """Removes the deliveries of events of that day and before; how many. Their events are gone, too (NFR-9)."""
    rows = yield Statement("delivery/forget", {"to_id": first_of_day(day + timedelta(days=1))})
    return len(rows)
