"""Fills a peer's queue: `python -m benchmarks.queue.seed pgqueuer|procrastinate|raw URL N`."""

import asyncio
import sys

import psycopg

BATCH = 5000
RAW = """
CREATE TABLE raw (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, priority int NOT NULL, state int NOT NULL
    DEFAULT 0, worker text, lease timestamptz) WITH (fillfactor = 80);
CREATE INDEX raw_waiting ON raw (priority, id) WHERE state = 0
"""


async def pgqueuer(url: str, n: int) -> None:
    from pgqueuer import Queries
    from pgqueuer.db import PsycopgDriver

    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        queries = Queries(PsycopgDriver(connection))
        await queries.install()
        for _ in range(0, n, BATCH):
            await queries.enqueue(["noop"] * BATCH, [None] * BATCH, [0] * BATCH)


async def procrastinate(url: str, n: int) -> None:
    import procrastinate as library

    app = library.App(connector=library.PsycopgConnector(conninfo=url))

    @app.task(name="noop")
    async def noop() -> None: ...

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for _ in range(0, n, BATCH):
            await noop.batch_defer_async(*({} for _ in range(BATCH)))


async def raw(url: str, n: int) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(RAW)
        await connection.execute("INSERT INTO raw (priority) SELECT i %% 3 FROM generate_series(1, %s::int) i", [n])


if __name__ == "__main__":
    asyncio.run(
        {"pgqueuer": pgqueuer, "procrastinate": procrastinate, "raw": raw}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
    )
