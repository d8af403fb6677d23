"""Day partitions of `job`, `attempt` and `event`: made ahead, dropped whole when retention has passed (NFR-9)."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from scrapejobs.domain.ids import first_of_day

PARTITIONED: Final = ("job", "attempt", "event")


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
