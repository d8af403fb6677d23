"""A loop's own connection to Postgres: opened when first used, opened anew after it broke."""

import asyncio
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec
import psycopg
from psycopg.errors import IdleInTransactionSessionTimeout, ReadOnlySqlTransaction
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads

from scrapejobs.config import STANDSTILL
from scrapejobs.store.run import Verb, run_async

T = TypeVar("T")

# Small hot tables beside big cold ones: a plan made while a table was empty must not become a scan of a full one, a
# claim must not wait long for a lock, and compiling a plan costs more than it saves. Planning costs more than carrying
# out where a statement may touch any of fifty days: it is planned once, and looks at its days' partitions when it runs.
_OPTIONS: Final = (
    "-c timezone=UTC -c enable_seqscan=off -c jit=off -c plan_cache_mode=force_generic_plan"
    f" -c lock_timeout=2s -c statement_timeout=30s {STANDSTILL}"
)


class Link:
    """Carries out verbs, one at a time, on an autocommit connection.

    `durable` False: its commits may be lost in a crash of the server, which is right for stamps that are made again.
    A failure of the connection is raised as `psycopg.OperationalError`; the next call connects anew.
    """

    def __init__(self, database_url: str, *, durable: bool = True) -> None:
        self._url = database_url
        self._options = _OPTIONS if durable else f"{_OPTIONS} -c synchronous_commit=off"
        self._conn: psycopg.AsyncConnection[DictRow] | None = None
        self._turn = asyncio.Lock()

    async def run(self, verb: Verb[T]) -> T:
        """Carries out a verb."""
        async with self._turn:
            conn = await self.conn()
            try:
                return await run_async(conn, verb)
            except (psycopg.OperationalError, asyncio.CancelledError):
                await self.aclose()  # in an unknown state: a cancelled statement may still be running there
                raise
            except (ReadOnlySqlTransaction, IdleInTransactionSessionTimeout) as error:
                # What was the primary no longer is, or this process stood still: the next connection is another.
                await self.aclose()
                raise psycopg.OperationalError(str(error)) from error

    async def conn(self) -> psycopg.AsyncConnection[DictRow]:
        """The connection itself, for a read that streams."""
        if self._conn is None or self._conn.closed:
            self._conn = await psycopg.AsyncConnection.connect(
                self._url, autocommit=True, row_factory=dict_row, options=self._options, connect_timeout=5
            )
            set_json_loads(msgspec.json.decode, self._conn)
        return self._conn

    async def aclose(self) -> None:
        if self._conn is not None:
            await self._conn.close()
            self._conn = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
