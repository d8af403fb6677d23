"""Cancelling jobs by hand: the rows first, then the hint to the workers that run them (FR-5, P7)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from scrapejobs.ops import hints
from scrapejobs.store.cancellation import BATCH, Filter, Seen, cancel_all, unfinished
from scrapejobs.store.clock import now
from scrapejobs.store.run import run


def cancel_and_tell(job_ids: Sequence[UUID]) -> list[UUID]:
    """Cancels those that are unfinished, in one transaction; which. Their workers see it in the rows at the latest."""
    cancelled = run(cancel_all(job_ids))
    for job_id in cancelled.running:
        hints.bus().cancelled(job_id)
    return cancelled.ids


def cancel_next(which: Filter, *, after: Seen | None, limit: int = BATCH) -> tuple[list[UUID], Seen] | None:
    """Cancels the next of those that match, behind `after`: which, and how far that is. None when none is left."""
    batch = run(unfinished(which, after=after, limit=limit))
    return (cancel_and_tell([job_id for _, job_id in batch]), batch[-1]) if batch else None


def cancel_in_batches(which: Filter, *, limit: int | None) -> Iterator[int]:
    """Cancels all that match, or `limit` of them; after each batch, how many it cancelled. What is done is committed,
    so it may be stopped at any point and begun again. What is taken in meanwhile is left, or it might never end.
    """
    which = which if which.until else replace(which, until=run(now()))
    left, after = limit, None
    while left is None or left > 0:
        step = cancel_next(which, after=after, limit=BATCH if left is None else min(left, BATCH))
        if step is None:
            return
        cancelled, after = step
        left = None if left is None else left - len(cancelled)
        yield len(cancelled)
