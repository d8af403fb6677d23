"""A peer's own worker as a process: `python -m benchmarks.queue.peer pgqueuer|procrastinate|raw URL AT_ONCE`.

Each does nothing for a job. Every half second it prints how many it has done. SIGTERM ends it. The peers are used
through their public APIs, as their documents show it.
"""

import asyncio
import sys
import threading
import time

import psycopg

EVERY_S = 0.5
RAW_CLAIM = (
    "UPDATE raw SET state = 1, worker = 'w', lease = clock_timestamp() + interval '30 s' WHERE id = ANY (ARRAY ("
    "SELECT id FROM raw WHERE state = 0 ORDER BY priority, id LIMIT %s FOR UPDATE SKIP LOCKED)) RETURNING id"
)
RAW_DONE = "UPDATE raw SET state = 2 WHERE id = ANY (%s) AND state = 1"

done = 0


def tell() -> None:
    while True:
        print(done, flush=True)
        time.sleep(EVERY_S)


async def pgqueuer(url: str, at_once: int) -> None:
    from pgqueuer import PgQueuer
    from pgqueuer.db import PsycopgDriver

    connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
    queue = PgQueuer(PsycopgDriver(connection))

    @queue.entrypoint("noop")
    async def noop(_job: object) -> None:
        global done  # noqa: PLW0603 - the one figure of this process
        done += 1

    await queue.run(batch_size=at_once, max_concurrent_tasks=2 * at_once)


async def procrastinate(url: str, at_once: int) -> None:
    import procrastinate as library

    app = library.App(connector=library.PsycopgConnector(conninfo=url))

    @app.task(name="noop")
    async def noop() -> None:
        global done  # noqa: PLW0603 - as above
        done += 1

    async with app.open_async():
        await app.run_worker_async(concurrency=at_once, install_signal_handlers=False)


def raw(url: str, at_once: int) -> None:
    """The limit: claim a batch, mark it done, and nothing else."""
    global done  # noqa: PLW0603 - as above
    with psycopg.connect(url, autocommit=True) as conn:
        while True:
            ids = [row[0] for row in conn.execute(RAW_CLAIM, [at_once]).fetchall()]
            if ids:
                conn.execute(RAW_DONE, [ids])
                done += len(ids)
            else:
                time.sleep(0.002)


if __name__ == "__main__":
    name, url, at_once = sys.argv[1], sys.argv[2], int(sys.argv[3])
    threading.Thread(target=tell, daemon=True).start()
    if name == "raw":
        raw(url, at_once)
    else:
        asyncio.run({"pgqueuer": pgqueuer, "procrastinate": procrastinate}[name](url, at_once))
