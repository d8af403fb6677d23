"""Secrets over time: sealed anew with another key, or at last, and erased when nobody wants them (ADR-0025).

A rotation goes through a table in batches, each a transaction. Rows that somebody holds are skipped, what is done is
not met again, and any number of rotations may run at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from scrapejobs.store.run import Row, Statement, Steps, Verb, verb
from scrapejobs.store.sealing import (
    ERASED,
    Damaged,
    KeyMissing,
    Ring,
    keep_callback,
    keep_request,
    open_callback,
    open_request,
)


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch did. `last`: the id to go on after; None when the table is through."""

    n_sealed: int
    n_unreadable: int
    last: UUID | None


Reseal = Callable[..., Verb[Batch]]


@verb(atomic=True)
def reseal_jobs(ring: Ring, *, after: UUID | None, limit: int) -> Steps[Batch]:
    """Seals requests and callback URLs with the ring's first key. Of a job that can no longer run, what is not sealed
    is masked, and gone.
    """
    found = yield Statement("job/to_reseal", {"after": after, "key_id": ring.ids[0], "limit": limit})
    anew, n_unreadable = _each(found, lambda row: _job(ring, row))
    if anew:
        yield Statement("job/reseal", _columns(anew))
    return _batch(found, len(anew), n_unreadable, limit)


@verb(atomic=True)
def reseal_deliveries(ring: Ring, *, after: UUID | None, limit: int) -> Steps[Batch]:
    """Seals the URLs of deliveries with the ring's first key."""
    found = yield Statement("delivery/to_reseal", {"after": after, "key_id": ring.ids[0], "limit": limit})
    anew, n_unreadable = _each(found, lambda row: _delivery(ring, row))
    if anew:
        params = {"ids": _all(anew, "id"), "urls": _all(anew, "url"), "sealed": _all(anew, "sealed")}
        yield Statement("delivery/reseal", params)
    return _batch(found, len(anew), n_unreadable, limit)


RESEAL: Final[tuple[Reseal, ...]] = (reseal_jobs, reseal_deliveries)
"""A rotation: each through to its end."""


@verb()
def seals() -> Steps[list[Row]]:
    """How many values are sealed with which key, as rows of `job/seals.sql`."""
    return (yield Statement("job/seals", {}))


@verb()
def erase_failed(*, older_s: float, limit: int) -> Steps[int]:
    """Erases the secrets of jobs that failed so long ago and were not requeued; how many."""
    return len((yield Statement("job/erase", {"older_s": older_s, "limit": limit})))


def _each(found: Sequence[Row], reseal: Callable[[Row], Row]) -> tuple[list[Row], int]:
    """The rows that come out changed, and how many cannot be read."""
    anew, n_unreadable = [], 0
    for row in found:
        try:
            new = reseal(row)
        except (KeyMissing, Damaged):
            n_unreadable += 1
            continue
        if new != row:
            anew.append(new)
    return anew, n_unreadable


def _job(ring: Ring, row: Row) -> Row:
    new = dict(row)
    if row["sealed"] != ERASED and not _is_current(ring, row["sealed"]):
        whole = open_request(ring, row | {"job_id": row["id"]})
        kept = keep_request(ring, whole["url"], whole["params"], job_id=row["id"])
        sealed = ERASED if kept.sealed and row["is_over"] else kept.sealed
        new |= {"url": kept.url, "params": kept.params, "sealed": sealed}
    if row["callback_url"] is not None and not _is_current(ring, row["callback_sealed"]):
        callback = {"url": row["callback_url"], "sealed": row["callback_sealed"], "job_id": row["id"]}
        masked, sealed = keep_callback(ring, open_callback(ring, callback), job_id=row["id"])
        new |= {"callback_url": masked, "callback_sealed": sealed}
    return new


def _delivery(ring: Ring, row: Row) -> Row:
    masked, sealed = keep_callback(ring, open_callback(ring, row), job_id=row["job_id"])
    return row | {"url": masked, "sealed": sealed}


def _is_current(ring: Ring, sealed: bytes | None) -> bool:
    return sealed is not None and bytes(sealed).startswith(ring.ids[0])


def _columns(anew: Sequence[Row]) -> Row:
    return {
        "ids": _all(anew, "id"),
        "urls": _all(anew, "url"),
        "params": [msgspec.json.encode(row["params"]).decode() for row in anew],
        "sealed": _all(anew, "sealed"),
        "callback_urls": _all(anew, "callback_url"),
        "callbacks_sealed": _all(anew, "callback_sealed"),
    }


def _all(rows: Sequence[Row], name: str) -> list[object]:
    return [row[name] for row in rows]


def _batch(found: Sequence[Row], n_sealed: int, n_unreadable: int, limit: int) -> Batch:
    return Batch(n_sealed, n_unreadable, found[-1]["id"] if len(found) == limit else None)
