"""Sending webhooks again by hand: the rows first, then the hint to the couriers (FR-9, case S4)."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from scrapejobs.ops import hints
from scrapejobs.store.deliveries import BATCH, Filter, matching, redeliver_all
from scrapejobs.store.run import run


def redeliver_and_tell(event_ids: Sequence[UUID]) -> list[UUID]:
    """Sends these events again; those that are still kept."""
    sent = run(redeliver_all(event_ids))
    hints.bus().wake("delivery")
    return sent


def redeliver_in_batches(which: Filter, *, limit: int | None) -> Iterator[int]:
    """Sends all that match again, or `limit` of them; after each batch, how many. What is done is committed and no
    longer matches, so it may be stopped at any point and begun again.
    """
    left, after = limit, None
    while left is None or left > 0:
        ids = run(matching(which, after=after, limit=BATCH if left is None else min(left, BATCH)))
        if not ids:
            return
        n = len(redeliver_and_tell(ids))
        after, left = ids[-1], None if left is None else left - n
        yield n
