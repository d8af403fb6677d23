"""Read side of jobs: one, a page, attempts. Always of one tenant: another's job is not there (NFR-5)."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from scrapejobs.domain.ids import first_at
from scrapejobs.domain.job import Status
from scrapejobs.domain.target import names_over
from scrapejobs.store.run import Row, Statement, Steps, verb

CLOCK_SLACK: Final = timedelta(hours=1)
"""How far an id, made by a gateway's clock, may be from `created_at`, which is the database's."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which of a tenant's jobs; None and no tags mean all. Both times exclude their own moment."""

    status: Status | None = None
    host: str | None = None
    priority: int | None = None
    tags: dict[str, str] = field(default_factory=dict)
    created_after: datetime | None = None
    created_before: datetime | None = None


@verb()
def get(job_id: UUID, *, tenant_id: int) -> Steps[Row | None]:
    """The row of `job/view.sql`, None when the tenant has no such job."""
    rows = yield Statement("job/view", {"ids": [job_id], "tenant_id": tenant_id})
    return rows[0] if rows else None


@verb()
def view(ids: Sequence[UUID], *, tenant_id: int) -> Steps[list[Row]]:
    """The rows of `job/view.sql`, newest first."""
    return (yield Statement("job/view", {"ids": list(ids), "tenant_id": tenant_id}))


@verb()
def ended(ids: Sequence[UUID]) -> Steps[list[UUID]]:
    """Which of these jobs are final."""
    return [row["id"] for row in (yield Statement("job/ended", {"ids": list(ids)}))]


@verb()
def arrived(*, since: datetime, limit: int) -> Steps[list[Row]]:
    """The newest jobs that came in since then, of all tenants, with the seconds of each attempt: the rows of
    `job/arrived.sql`.
    """
    params = {"since": since, "from_id": first_at(since - CLOCK_SLACK), "limit": limit}
    return (yield Statement("job/arrived", params))


@verb()
def n_waiting(tenant_id: int, *, limit: int) -> Steps[int]:
    """How many of a tenant's jobs wait, `limit` at most."""
    rows = yield Statement("job/n_waiting", {"tenant_id": tenant_id, "limit": limit})
    return int(rows[0]["n"])


@verb()
def page(wanted: JobFilter, *, tenant_id: int, below: UUID | None, limit: int) -> Steps[list[UUID]]:
    """The ids of a page, newest first, below `below` (FR-6)."""
    status = wanted.status
    params = {
        "tenant_id": tenant_id,
        "below": below,
        "limit": limit,
        "host": wanted.host,
        "priority": wanted.priority,
        "tags": msgspec.json.encode(wanted.tags).decode() if wanted.tags else None,
        "created_after": wanted.created_after,
        "created_before": wanted.created_before,
        "from_id": _id_at(wanted.created_after, -CLOCK_SLACK),
        "to_id": _id_at(wanted.created_before, CLOCK_SLACK),
        "final_state": status.value if status and status.is_final else None,
        "queued": status is Status.QUEUED,
        "running": status is Status.RUNNING,
    }
    return [row["id"] for row in (yield Statement("job/page", params))]


@verb()
def attempts(job_id: UUID, *, tenant_id: int) -> Steps[list[Row] | None]:
    """Every attempt, the one under way last; None when the tenant has no such job (FR-7)."""
    rows = yield Statement("attempt/of_job", {"id": job_id, "tenant_id": tenant_id})
    return [row for row in rows if row["number"] is not None] if rows else None


@dataclass(frozen=True, slots=True)
class Hindrances:
    """What keeps queued jobs from starting, and until when, if that is known. `pauses` by the names of `host` rows,
    `trials` (of circuits) and `crowds` by host.
    """

    has_worker: bool
    tenant_is_full: bool
    pauses: dict[str, datetime | None]
    trials: dict[str, datetime | None]
    crowds: dict[str, datetime | None]

    def pause_of(self, host: str) -> tuple[bool, datetime | None]:
        """Whether a host is paused by any row that speaks of it, and until when (None: no end)."""
        ends = [self.pauses[name] for name in names_over(host) if name in self.pauses]
        known = [end for end in ends if end is not None]
        return bool(ends), max(known) if known and len(known) == len(ends) else None


@verb()
def hindrances(hosts: Collection[str], *, tenant_id: int, alive_s: float) -> Steps[Hindrances]:
    """What hinders a tenant's jobs at these hosts (S22). A worker silent for `alive_s` seconds is none."""
    names = sorted({name for host in hosts for name in names_over(host)})
    params = {"hosts": list(hosts), "names": names, "tenant_id": tenant_id, "alive_s": alive_s}
    found: dict[str, dict[str, datetime | None]] = defaultdict(dict)
    for row in (yield Statement("job/hindrances", params)):
        found[row["what"]][row["name"]] = row["until"]
    return Hindrances(
        has_worker="no_worker" not in found,
        tenant_is_full="tenant_full" in found,
        pauses=found["paused"],
        trials=found["circuit"],
        crowds=found["crowded"],
    )


def _id_at(moment: datetime | None, slack: timedelta) -> UUID | None:
    if moment is None:
        return None
    try:
        return first_at(moment + slack)
    except OverflowError:
        return None
