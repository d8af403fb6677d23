"""Connections of the loops: psycopg's async ones, autocommit, with the settings that queue work wants."""

from typing import Final

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

# Small hot tables beside big cold ones: a plan made while a table was empty must not become a scan of a full one, a
# claim must not wait long for a lock (rule 1 of docs/picking.md), and compiling a plan costs more than it saves.
_OPTIONS: Final = "-c timezone=UTC -c enable_seqscan=off -c jit=off -c lock_timeout=2s -c statement_timeout=30s"

Conn = psycopg.AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Conn]


def make_pool(database_url: str, *, size: int, durable: bool = True) -> Pool:
    """A pool, not opened yet. `durable` False: commits may be lost in a crash of the server, for stamps that are then
    made again."""
    options = _OPTIONS if durable else f"{_OPTIONS} -c synchronous_commit=off"
    return AsyncConnectionPool(
        database_url,
        min_size=1,
        max_size=size,
        open=False,
        timeout=5.0,
        reconnect_timeout=30.0,
        max_idle=60.0,
        check=AsyncConnectionPool.check_connection,
        connection_class=Conn,
        kwargs={"autocommit": True, "row_factory": dict_row, "options": options, "connect_timeout": 5},
    )
