"""The dead-letter backlog: failed jobs that nobody has put aside, by incident, one by one, and in batches (FR-10)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from scrapejobs.store.clock import now
from scrapejobs.store.run import Row, Statement, Steps, Verb, run, verb

BATCH: Final = 500

Act = Callable[[Sequence[UUID]], Verb[list[UUID]]]
"""`requeue_all` or `discard_all` of `store.transitions`."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which dead letters; what is None does not narrow. `since` and `until` are times of failing, both included."""

    host: str | None = None
    cls: str | None = None
    code: str | None = None
    tenant_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None

    def params(self, *, limit: int | None) -> Row:
        row = asdict(self)
        return {**row, "class": row.pop("cls"), "limit": limit}


@verb()
def groups(which: Filter, *, limit: int | None = None) -> Steps[list[Row]]:
    """Dead letters by (host, class, code), most first: the rows of `dead_letter/groups.sql`."""
    return (yield Statement("dead_letter/groups", which.params(limit=limit)))


@verb()
def letters(which: Filter, *, limit: int | None) -> Steps[list[Row]]:
    """Dead letters one by one: the rows of `dead_letter/list.sql`."""
    return (yield Statement("dead_letter/list", which.params(limit=limit)))


def act_on_next(which: Filter, act: Act, *, limit: int = BATCH) -> list[UUID] | None:
    """Lets `act` change the next of those that match, and commits; which it changed, None when none is left."""
    batch = run(letters(which, limit=limit))
    return run(act([row["id"] for row in batch])) if batch else None


def act_in_batches(which: Filter, act: Act, *, limit: int | None = None, batch_size: int = BATCH) -> Iterator[int]:
    """Lets `act` change all that match, or the first `limit`; after each batch, how
    many it changed. What is done is committed, so it may be stopped at any point and begun again.

    What fails again meanwhile is left for another time, or a hopeless job would go round for ever.
    """
    which = which if which.until else replace(which, until=run(now()))
    left = limit
    while left is None or left > 0:
        changed = act_on_next(which, act, limit=batch_size if left is None else min(left, batch_size))
        if changed is None:
            return
        left = None if left is None else left - len(changed)
        yield len(changed)
