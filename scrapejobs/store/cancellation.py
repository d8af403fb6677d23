"""Cancelling many jobs at once: few statements a batch, and what `transitions.cancel` promises for each (FR-5, S20)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from scrapejobs.store.run import Statement, Steps, verb

BATCH: Final = 500

_PLACES: Final = ("delayed/remove", "queued/remove", "ready/remove")
"""In the order in which jobs move on."""


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


@dataclass(frozen=True, slots=True)
class Cancelled:
    """`ids`: cancelled now; `running`: those among them whose workers are to be told."""

    ids: list[UUID]
    running: list[UUID]


@verb()
def unfinished(which: Filter, *, limit: int | None) -> Steps[list[UUID]]:
    """The unfinished jobs that match, oldest first. What is cancelled leaves them."""
    tags = msgspec.json.encode(which.tags).decode() if which.tags else None
    rows = yield Statement("job/unfinished", {**asdict(which), "tags": tags, "limit": limit})
    return [row["id"] for row in rows]


@verb(atomic=True)
def cancel_all(job_ids: Sequence[UUID]) -> Steps[Cancelled]:
    """Cancels those that are unfinished, wherever each is: in one pass through the places, as ADR-0013 has it."""
    locked = [row["id"] for row in (yield Statement("job/lock_unfinished", {"ids": list(job_ids)}))]
    for place in _PLACES:
        yield Statement(place, {"ids": locked})
    running = [row["job_id"] for row in (yield Statement("lease/find", {"ids": locked}))]
    yield Statement("job/cancel", {"ids": locked})
    return Cancelled(locked, running)
