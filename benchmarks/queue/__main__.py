"""How fast jobs go through the queue, beside the limit and beside peers: `python -m benchmarks.queue [CELL ...]`.

All on one Postgres in one run, commits durable. Ours: the real scheduler, and workers whose loops are the product's own
with the fetch left out; every limit and weight is counted. The limit is a bare SKIP LOCKED loop on one table. Peers run
their own workers on jobs that do nothing. Compare within a run: the machine's speed is in every figure.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.queue import probes
from benchmarks.queue.cost import servers_of, spent
from benchmarks.queue.stand import Counter, Stand, rate_of, seed_entries, seed_ours, seed_peers, stand, wait_for

SECONDS = 8.0
SHORT, DEEP, PAUSED = 120_000, 1_000_000, 400_000
SLOTS, TUNED_SLOTS, TUNED_WORKERS = 20, 200, 2
PEER_TUNED = 100


def ours(stand: Stand, *, slots: int, workers: int) -> float:
    """Jobs a second that became final."""
    stand.start("manage.py", "run_role", "scheduler", "--metrics-port", "0")
    for _ in range(workers):
        stand.start("-m", "benchmarks.queue.worker", str(slots))
    try:
        with stand.connect() as conn:
            return rate_of(lambda: _count(conn), seconds=SECONDS)
    finally:
        stand.stop_all()


def _count(conn: object) -> int:
    return int(conn.execute("SELECT count(*) FROM attempt").fetchone()[0])  # type: ignore[attr-defined]


def peer(stand: Stand, name: str, *, at_once: int, workers: int = 1) -> float:
    """Jobs a second that a peer did."""
    argv = ("-m", "benchmarks.queue.peer", name, stand.url(name), str(at_once))
    counter = Counter([stand.start(*argv, is_read=True) for _ in range(workers)])
    try:
        return rate_of(counter.done, seconds=SECONDS)
    finally:
        stand.stop_all()


def drain(stand: Stand) -> None:
    """20 slots, one worker; and tuned, two workers."""
    seed_ours(stand, SHORT)
    one = ours(stand, slots=SLOTS, workers=1)
    seed_ours(stand, SHORT)
    tuned = ours(stand, slots=TUNED_SLOTS, workers=TUNED_WORKERS)
    seed_peers(stand, SHORT)
    for what, slots, mine, workers in (("20 slots", SLOTS, one, 1), ("tuned", PEER_TUNED, tuned, TUNED_WORKERS)):
        show(f"drain, {what}", mine)
        for name in ("raw", "pgqueuer", "procrastinate"):
            theirs = peer(stand, name, at_once=slots, workers=workers)
            show(f"  {name}", theirs, f"ours is {mine / theirs:.2f} x")


def cost(stand: Stand) -> None:
    """Where the time of a drain goes: microseconds of processor time a job, of all processes of each kind."""
    for what, slots, workers in (("20 slots", SLOTS, 1), ("tuned", TUNED_SLOTS, TUNED_WORKERS)):
        seed_ours(stand, SHORT)
        scheduler = stand.start("manage.py", "run_role", "scheduler", "--metrics-port", "0")
        crew = [stand.start("-m", "benchmarks.queue.worker", str(slots)) for _ in range(workers)]
        with stand.connect() as conn:
            wait_for(lambda: _count(conn))
            kinds = {"scheduler": [scheduler.pid], "workers": [worker.pid for worker in crew]}
            kinds["Postgres"] = servers_of(conn)
            before, start = {kind: spent(pids) for kind, pids in kinds.items()}, _count(conn)
            time.sleep(SECONDS)
            n = _count(conn) - start
            us = {kind: spent(pids).since(before[kind]) / n for kind, pids in kinds.items()}
        stand.stop_all()
        show(f"drain, {what}", n / SECONDS, f"{sum(us.values()):.0f} us of processor time a job")
        for kind, share in us.items():
            print(f"  {kind:40} {share:9.0f} us a job", flush=True)


def depth(stand: Stand) -> None:
    """A million queued, and 400,000 at one paused host, against a short queue; 20 slots."""
    seed_ours(stand, SHORT)
    short = ours(stand, slots=SLOTS, workers=1)
    show("drain, short queue", short)
    seed_ours(stand, DEEP)
    deep = ours(stand, slots=SLOTS, workers=1)
    show("drain, 1,000,000 queued", deep, f"{deep / short:.2f} of the short queue (target 0.8)")
    seed_ours(stand, SHORT, paused=PAUSED)
    paused = ours(stand, slots=SLOTS, workers=1)
    show("drain, 400,000 more on a paused host", paused, f"{paused / short:.2f} of the short queue (target 0.8)")


def rebuild(stand: Stand) -> None:
    """How long a new dispatcher reads a million entries, and what they add to its memory."""
    for what, lane in LANES.items():
        seed_entries(stand, DEEP, lane=lane)
        scheduler = stand.start("manage.py", "run_role", "scheduler", "--metrics-port", "0", is_read=True)
        assert scheduler.stdout is not None
        elected = next(line for line in scheduler.stdout if "dispatcher_elected" in line)
        seconds, memory = json.loads(elected)["rebuild_s"], Path(f"/proc/{scheduler.pid}/status").read_text()
        rss = next(int(line.split()[1]) for line in memory.splitlines() if line.startswith("VmRSS")) / 1024
        stand.stop_all()
        print(f"rebuild, 1,000,000 queued in {what:17} {seconds:6.2f} s, {rss:4.0f} MiB rss (target 5 s)", flush=True)


def snapshot(stand: Stand) -> None:
    """The median time of a claim while a snapshot is held open elsewhere: the last tenth against the first."""
    seed_ours(stand, 100_000)
    stand.start("manage.py", "run_role", "scheduler", "--metrics-port", "0")
    took = asyncio.run(_claims(stand))
    stand.stop_all()
    tenth = len(took) // 10
    first, last = statistics.median(took[:tenth]) * 1000, statistics.median(took[-tenth:]) * 1000
    print(f"claim p50 under a held snapshot: first tenth {first:.2f} ms, last tenth {last:.2f} ms")
    print(f"  last / first: {last / first:.2f} (target 1.4)")


async def _claims(stand: Stand) -> list[float]:
    return await probes.claims_under_a_held_snapshot(stand.url(), stand.environment["REDIS_URL"], 100_000, slots=SLOTS)


def latency(stand: Stand) -> None:
    """From the 202's commit to the start, at 50 jobs a second."""
    seed_ours(stand, 0)
    for role in ("scheduler", "publisher"):
        stand.start("manage.py", "run_role", role, "--metrics-port", "0")
    stand.start("-m", "benchmarks.queue.worker", str(SLOTS))
    waits = asyncio.run(probes.starts_at(stand.url(), stand.environment["REDIS_URL"], rate=50.0, n=1000))
    stand.stop_all()
    p50, p95 = statistics.median(waits) * 1000, statistics.quantiles(waits, n=20)[18] * 1000
    print(f"created to started at 50 jobs/s: p50 {p50:.1f} ms, p95 {p95:.1f} ms (target 50)")


def enqueue(stand: Stand) -> None:
    """Intake's one statement, one by one, on one connection and on eight; and the publisher."""
    for connections in (1, 8):
        seed_ours(stand, 0)
        show(
            f"enqueue one by one, {connections} connections",
            asyncio.run(probes.submits(stand.url(), connections, SECONDS)),
        )
    seed_ours(stand, 0)
    asyncio.run(probes.submits(stand.url(), 8, SECONDS))
    show("publish", asyncio.run(probes.publishes(stand.url())))


LANES = {
    "3,600 lanes": "i %% 3, i %% 60, 'h' || (i / 180) %% 20",
    "one lane": "1, 1, 'h'",
    "200,000 lanes": "1, i %% 60, 'h' || i %% 200000",
}

CELLS: dict[str, Callable[[Stand], None]] = {
    "drain": drain,
    "cost": cost,
    "depth": depth,
    "rebuild": rebuild,
    "snapshot": snapshot,
    "latency": latency,
    "enqueue": enqueue,
}


def show(what: str, jobs_s: float, note: str = "") -> None:
    print(f"{what:42} {jobs_s:9,.0f} jobs/s   {note}", flush=True)


def main(names: Sequence[str]) -> None:
    unknown = set(names) - CELLS.keys()
    if unknown:
        sys.exit(f"no such cell: {', '.join(sorted(unknown))}; there are {', '.join(CELLS)}")
    with stand() as here:
        for name in names or CELLS:
            CELLS[name](here)


if __name__ == "__main__":
    main(sys.argv[1:])
