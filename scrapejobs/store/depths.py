"""How much is queued, by tenant and by host: counted now and then, and read by whoever wants to know (FR-13)."""

from typing import Final

from scrapejobs.store.run import Row, Statement, Steps, verb

MOST: Final = 100
"""Tenants and hosts that are told, those with the most jobs."""


@verb()
def count() -> Steps[int]:
    """Counts, and writes it down for `read`; how many jobs are queued in all."""
    (row,) = yield Statement("depth/count", {"most": MOST})
    return int(row["queued"])


@verb()
def read() -> Steps[Row | None]:
    """The last count, a row of `depth/read.sql`; None when nobody has counted yet."""
    rows = yield Statement("depth/read", {})
    return rows[0] if rows else None
