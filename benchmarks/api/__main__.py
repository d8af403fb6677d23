"""How fast the API is: `python -m benchmarks.api [CELL ...]`.

Gateways, Postgres and Valkey on this machine, all commits durable, and the client beside them on the same cores.
Latency counts from when a request was due (open loop). CPU is that of gateway and Postgres together, request by request
in turn with a view that does nothing and with the usual way, a serializer and the ORM. Compare within a run.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from granian import Granian
from granian.constants import Interfaces

from benchmarks.api import load
from benchmarks.api.load import Connection, Place
from benchmarks.api.site import FACTORY
from benchmarks.queue.stand import ROOT, Stand, stand
from scrapejobs.adapters.embedded import free_port

GATEWAYS = 2
SECONDS = 8.0
GOAL_MS = 200.0
MODEL = 28 + 167
TICK = os.sysconf("SC_CLK_TCK")


def model(place: Place) -> None:
    """The load that the service is sized for: 28 writes and 167 reads a second."""
    told = asyncio.run(load.run(place, rate=MODEL, seconds=20.0, next_request=_mix(place)))
    print(f"model load, {MODEL}/s: p50 {told.at(0.5):.1f} ms, p99 {told.at(0.99):.1f} ms, {told.n_failed} failed")


def mix(place: Place) -> None:
    """The highest rate of one write to six reads."""
    _highest("1 write to 6 reads", 2000, place, _mix(place))


def writes(place: Place) -> None:
    """The highest rate of writes alone."""
    _highest("writes alone", 600, place, load.writes)


def _mix(place: Place) -> Callable[[], tuple[str, str, bytes]]:
    return load.mix(asyncio.run(_submitted(place, 200)), share_of_writes=1 / 7)


def _highest(what: str, target: int, place: Place, next_request: Callable[[], tuple[str, str, bytes]]) -> None:
    """Goes up by a quarter until a rate is not kept with 99 of 100 below 200 ms, and none failed."""
    rate, best = 200.0, 0.0
    while True:
        told = asyncio.run(load.run(place, rate=rate, seconds=SECONDS, next_request=next_request))
        is_kept = told.at(0.99) < GOAL_MS and not told.n_failed and told.rate > 0.97 * rate
        print(f"  {what}, {rate:6.0f}/s: p50 {told.at(0.5):6.1f} ms, p99 {told.at(0.99):7.1f} ms", flush=True)
        if not is_kept:
            break
        best, rate = rate, rate * 1.25
    print(f"{what}: {best:.0f}/s with p99 below 200 ms (target {target}/s)", flush=True)


def bulk(place: Place) -> None:
    """Jobs a second in documents of 1,000, one client for each gateway."""
    body = json.dumps({"jobs": [json.loads(load.JOB % n) for n in range(1000)]}).encode()

    async def client(port: int) -> int:
        connection, n = Connection(port, place.key), 0
        while time.perf_counter() < until:
            status, _ = await connection.ask("POST", "/jobs/bulk", body)
            assert status == 202, status
            n += 1000
        connection.close()
        return n

    async def all_of_them() -> int:
        return sum(await asyncio.gather(*(client(port) for port in place.ports)))

    until = time.perf_counter() + SECONDS
    print(f"bulk of 1,000: {asyncio.run(all_of_them()) / SECONDS:,.0f} jobs/s (target 8,000)", flush=True)


def cpu(place: Place) -> None:
    """CPU of a request, gateway and Postgres together, in rounds by turns."""
    asyncio.run(_cpu(place))


async def _cpu(place: Place) -> None:
    (job_id,) = await _submitted(place, 1)
    document = json.dumps({"jobs": [json.loads(load.JOB % n) for n in range(1000)]}).encode()
    kinds: dict[str, tuple[str, str, bytes, int]] = {
        "a view that does nothing": ("GET", "/bench/noop", b"", 150),
        "POST /jobs": ("POST", "/jobs", load.JOB % 1, 100),
        "  the usual way": ("POST", "/bench/usual", load.JOB.replace(b"%d", b"1"), 100),
        "GET /jobs/{id}": ("GET", f"/jobs/{job_id}", b"", 150),
        "  the usual way ": ("GET", f"/bench/usual?id={job_id}", b"", 100),
        "GET /jobs?limit=50": ("GET", "/jobs?limit=50", b"", 50),
        "GET /jobs/{id}/attempts": ("GET", f"/jobs/{job_id}/attempts", b"", 50),
        "POST /jobs/bulk, 1,000 jobs": ("POST", "/jobs/bulk", document, 2),
    }
    took: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    connection = Connection(place.ports[0], place.key)
    for round_ in range(12):
        for kind, (method, path, body, n) in kinds.items():
            before = _gateway_s(), _postgres_s()
            for _ in range(n):
                status, content = await connection.ask(method, path, body)
                assert status < 300, (kind, status, content)
            spent = [(after - at) / n * 1000 for at, after in zip(before, (_gateway_s(), _postgres_s()), strict=True)]
            if round_ > 1:  # the first two warm up
                took[kind].append((spent[0], spent[1]))
    nothing = statistics.median(sum(one) for one in took["a view that does nothing"])
    print(f"{'CPU in ms':30} {'gateway':>8} {'Postgres':>8} {'both':>8} {'x nothing':>9}")
    for kind, each in took.items():
        gateway, postgres = (statistics.median(side) for side in zip(*each, strict=True))
        print(
            f"{kind:30} {gateway:8.2f} {postgres:8.2f} {gateway + postgres:8.2f} {(gateway + postgres) / nothing:9.1f}"
        )


async def _submitted(place: Place, n: int) -> list[str]:
    connection = Connection(place.ports[0], place.key)
    ids = [json.loads((await connection.ask(*load.writes()))[1])["id"] for _ in range(n)]
    connection.close()
    return ids


# ---- the processes

_gateways: list[int] = []
_postmaster = 0


def _gateway_s() -> float:
    return sum(_spent(pid) for pid in _gateways)


def _postgres_s() -> float:
    children = Path(f"/proc/{_postmaster}/task/{_postmaster}/children").read_text().split()
    return _spent(_postmaster, with_dead=True) + sum(_spent(int(child)) for child in children)


def _spent(pid: int, *, with_dead: bool = False) -> float:
    """CPU seconds of a process; of its children that are gone too, if asked."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11 : 15 if with_dead else 13]) / TICK


@contextmanager
def served(here: Stand) -> Iterator[Place]:
    """Gateways, a publisher, a tenant and its key."""
    global _postmaster  # noqa: PLW0603 - one stand for each run
    here.environment |= {
        "SCRAPEJOBS_API_RATE": "1000000",
        "SCRAPEJOBS_API_BURST": "1000000",  # counted, and not in the way
        "SCRAPEJOBS_SEALING_KEYS": "a-sealing-key-for-benchmarks-and-nothing-else",
        "GATEWAY_NAME": "benchmark",
    }
    argv = [sys.executable, "manage.py", "create_key", "--tenant", "bench"]
    key = subprocess.run(
        argv, cwd=ROOT, env=here.environment, check=True, capture_output=True, text=True
    ).stdout.split()[-1]
    ports = [free_port() for _ in range(GATEWAYS)]
    parents = [here.start("-m", "benchmarks.api", "--serve", str(port)) for port in ports]
    here.start("manage.py", "run_role", "publisher", "--metrics-port", "0")
    place = Place(ports, key)
    for port in ports:
        _wait_for(port, key)
    for parent in parents:
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        _gateways.append(max((int(child) for child in children), key=_spent))
    with here.connect() as conn:
        _postmaster = _parent_of(conn)
    yield place


def _parent_of(conn: psycopg.Connection) -> int:
    return int(Path(f"/proc/{conn.info.backend_pid}/stat").read_text().rpartition(")")[2].split()[1])


def _wait_for(port: int, key: str) -> None:
    async def is_up() -> bool:
        connection = Connection(port, key)
        try:
            return (await connection.ask("GET", "/healthz"))[0] == 200
        except OSError:
            return False
        finally:
            connection.close()

    give_up_at = time.monotonic() + 60
    while not asyncio.run(is_up()):
        if time.monotonic() > give_up_at:
            sys.exit("a gateway did not come up within a minute")
        time.sleep(0.2)


def serve(port: int) -> None:
    Granian(FACTORY, factory=True, address="127.0.0.1", port=port, interface=Interfaces.RSGI, workers=1).serve()


CELLS: dict[str, Callable[[Place], None]] = {"cpu": cpu, "model": model, "mix": mix, "writes": writes, "bulk": bulk}


def main(names: Sequence[str]) -> None:
    unknown = set(names) - CELLS.keys()
    if unknown:
        sys.exit(f"no such cell: {', '.join(sorted(unknown))}; there are {', '.join(CELLS)}")
    with stand() as here, served(here) as place:
        for name in names or CELLS:
            CELLS[name](place)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        main(sys.argv[1:])
