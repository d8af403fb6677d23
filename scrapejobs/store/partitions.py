"""Day partitions of `job`, `attempt` and `event`: made ahead, dropped whole when retention has passed (NFR-9)."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

from scrapejobs.domain.ids import first_of_day
from scrapejobs.store.run import Statement, Steps, verb

PARTITIONED: Final = ("job", "attempt", "event")
LOCK_JOBS: Final = "LOCK TABLE ONLY job IN ACCESS EXCLUSIVE MODE"
"""What dropping a partition takes anyway; taken first, what is read under it holds until the drop."""


def name_of(table: str, day: date) -> str:
    return f"{table}_{day:%Y%m%d}"


def create_statements(today: date, *, days_ahead: int) -> Iterator[str]:
    """Idempotent DDL for yesterday (a gateway's clock may lag) to `days_ahead` days from today."""
    for offset in range(-1, days_ahead + 1):
        day = today + timedelta(days=offset)
        for table in PARTITIONED:
            yield (
                f"CREATE TABLE IF NOT EXISTS {name_of(table, day)} PARTITION OF {table} "
                f"FOR VALUES FROM ('{first_of_day(day)}') TO ('{first_of_day(day + timedelta(days=1))}') "
                f"WITH (fillfactor = 85, autovacuum_vacuum_insert_scale_factor = 0.1)"
            )


def drop_statements(day: date) -> Iterator[str]:
    """DDL that removes a day."""
    for table in PARTITIONED:
        yield f"DROP TABLE IF EXISTS {name_of(table, day)}"


@verb()
def days() -> Steps[list[date]]:
    """The days that have a partition of `job`, oldest first."""
    rows = yield Statement("partition/days", {})
    return [datetime.strptime(row["name"].removeprefix("job_"), "%Y%m%d").replace(tzinfo=UTC).date() for row in rows]


@verb()
def has_unfinished(day: date) -> Steps[bool]:
    """Whether a day still has jobs that are not final, whose finish event is not written, or that have a lease."""
    bounds = {"from_id": first_of_day(day), "to_id": first_of_day(day + timedelta(days=1))}
    return bool((yield Statement("partition/unfinished", bounds)))
