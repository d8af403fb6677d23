"""Cancelling jobs by hand: the rows first, then the hint to the workers that run them (FR-5, P7)."""

from collections.abc import Sequence
from uuid import UUID

from scrapejobs.ops import hints
from scrapejobs.store.cancellation import cancel_all
from scrapejobs.store.run import run


def cancel_and_tell(job_ids: Sequence[UUID]) -> list[UUID]:
    """Cancels those that are unfinished, in one transaction; which. Their workers see it in the rows at the latest."""
    cancelled = run(cancel_all(job_ids))
    for job_id in cancelled.running:
        hints.bus().cancelled(job_id)
    return cancelled.ids
