"""Gauges as the rows have them now: read at each scrape, never counted, so no crash makes them drift (case S18)."""

from datetime import datetime
from typing import Final

import psycopg
from psycopg.rows import dict_row

from scrapejobs.domain.job import PRIORITIES
from scrapejobs.store.query import sql
from scrapejobs.store.run import Row

# Without statistics a planner may scan a table that has an index for the question, and a scrape must not hold up long.
_OPTIONS: Final = "-c timezone=UTC -c enable_seqscan=off -c jit=off -c statement_timeout=2s"

Connection = psycopg.Connection[Row]


def connect(database_url: str) -> Connection:
    """A connection for gauges alone, on which no statement takes longer than two seconds."""
    return psycopg.connect(database_url, autocommit=True, row_factory=dict_row, options=_OPTIONS, connect_timeout=2)


def read(conn: Connection, gauge: str, *, alive_s: float, now: datetime | None = None) -> list[Row]:
    """The rows of `sql/gauge/<gauge>.sql`: a `value` and its labels, a priority as the name of its `queue`.

    `alive_s` is the age at which a process's heartbeat is too old to call it alive, in seconds.
    """
    rows = conn.execute(sql(f"gauge/{gauge}"), {"alive_s": alive_s, "now": now}).fetchall()
    for row in rows:
        if "priority" in row:
            row["queue"] = PRIORITIES[row.pop("priority")]
    return rows
