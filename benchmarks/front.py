"""What reading bodies on the event loop costs a gateway (ADR-0017): the two interfaces of granian, in one run.

    make up                                        (in another terminal: its Postgres and Valkey are used)
    .venv/bin/python -m benchmarks.front [REQUESTS]

Starts two gateways on the same settings, one by WSGI and one as the product does it, and asks each in turn, in
many short rounds, for `GET /jobs?limit=1` with a key. Prints the CPU that the serving process took for a request.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import requests
from granian import Granian
from granian.constants import Interfaces

from scrapejobs.adapters.embedded import free_port
from scrapejobs.config import load_or_exit, stack_env
from scrapejobs.ops.local.data_dir import recall_access

ROUNDS = 15  # short and in turn: a noisy machine is noisy to both
START_S = 30.0
TARGETS = {
    "WSGI": ("scrapejobs.wsgi:application", Interfaces.WSGI, False),
    "front (RSGI)": ("scrapejobs.ops.gateway:application", Interfaces.RSGI, True),
}


def main(n: int) -> None:
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {recall_access(stack_env().parent).api_key}"
    took: dict[str, list[float]] = {name: [] for name in TARGETS}
    with contextlib.ExitStack() as stack:
        gateways = {name: stack.enter_context(gateway(name, session)) for name in TARGETS}
        for _ in range(ROUNDS):
            for name, (url, pid) in gateways.items():
                before = cpu_s(pid)
                for _ in range(n):
                    session.get(url, timeout=10).raise_for_status()
                took[name].append((cpu_s(pid) - before) / n * 1000)
    for name, each in took.items():
        print(f"{name:14} CPU per request, median of {ROUNDS}: {statistics.median(each):.2f} ms")
    ratios = sorted(front / wsgi for wsgi, front in zip(*took.values(), strict=True))
    print(f"front / WSGI, round by round: median {statistics.median(ratios):.2f}, {ratios[0]:.2f} to {ratios[-1]:.2f}")


@contextlib.contextmanager
def gateway(name: str, session: requests.Session) -> Iterator[tuple[str, int]]:
    """A gateway that answers: its URL, and the process that serves."""
    port = free_port()
    environment = {**os.environ, "GATEWAY_NAME": "benchmark"}
    parent = subprocess.Popen([sys.executable, "-m", "benchmarks.front", "--serve", name, str(port)], env=environment)
    url = f"http://127.0.0.1:{port}/jobs?limit=1"
    try:
        deadline = time.monotonic() + START_S
        while True:
            with contextlib.suppress(requests.ConnectionError):
                session.get(url, timeout=10).raise_for_status()
                break
            if time.monotonic() > deadline:
                sys.exit(f"{name} did not answer within {START_S:g} s")
            time.sleep(0.1)
        yield url, max(children(parent.pid), key=cpu_s)
    finally:
        parent.terminate()
        parent.wait()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve(name: str, port: int) -> None:
    target, interface, is_factory = TARGETS[name]
    threads = load_or_exit().gateway_threads if interface is Interfaces.WSGI else 1
    Granian(
        target, factory=is_factory, port=port, interface=interface, blocking_threads=threads, log_enabled=False
    ).serve()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
