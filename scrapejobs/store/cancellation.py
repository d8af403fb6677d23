"""Cancelling many jobs at once: few statements a batch, and what `transitions.cancel` promises for each (FR-5, S20)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from scrapejobs.store.run import Row, Statement, Steps, verb
from scrapejobs.store.transitions import LOOKS

BATCH: Final = 500

Seen = tuple[int, UUID]
"""Tenant and id of a job: how far a cancel of many has come."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which unfinished jobs; what is None does not narrow. `since` and `until` are times of intake, both included;
    `running` False: only those that wait.
    """

    tenant_id: int | None = None
    host: str | None = None
    priority: int | None = None
    tags: dict[str, str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    running: bool | None = None

    def params(self) -> Row:
        return {**asdict(self), "tags": msgspec.json.encode(self.tags).decode() if self.tags else None}


@dataclass(frozen=True, slots=True)
class Cancelled:
    """`ids`: cancelled now; `running`: those among them whose workers are to be told."""

    ids: list[UUID]
    running: list[UUID]


@verb()
def unfinished(which: Filter, *, after: Seen | None, limit: int) -> Steps[list[Seen]]:
    """The next unfinished jobs that match, in the order of tenants, oldest first of each."""
    tenant_id, job_id = after or (None, None)
    place = {"after_tenant_id": tenant_id, "after_id": job_id, "limit": limit}
    rows = yield Statement("job/unfinished", {**which.params(), **place})
    return [(row["tenant_id"], row["id"]) for row in rows]


@verb()
def n_unfinished(which: Filter) -> Steps[int]:
    """How many unfinished jobs match."""
    return int((yield Statement("job/n_unfinished", which.params()))[0]["n"])


@verb(atomic=True)
def cancel_all(job_ids: Sequence[UUID]) -> Steps[Cancelled]:
    """Cancels those that are unfinished, wherever each is: in one pass through the places, as ADR-0013 has it."""
    locked = [row["id"] for row in (yield Statement("job/lock_unfinished", {"ids": list(job_ids)}))]
    for place in LOOKS:
        yield Statement(place, {"ids": locked})
    running = [row["job_id"] for row in (yield Statement("lease/find", {"ids": locked}))]
    yield Statement("job/cancel", {"ids": locked})
    return Cancelled(locked, running)
