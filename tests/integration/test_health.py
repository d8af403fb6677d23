"""What the probes' server of a role says, asked over HTTP."""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter

from scrapejobs.ops.health import Health


@pytest.fixture
def served() -> Iterator[Any]:
    """Serves a `Health`; returns a function that asks for a path: status and body."""
    opened: list[Health] = []

    def serve(health: Health) -> Any:
        port = health.serve("127.0.0.1", 0)
        opened.append(health)

        def get(path: str) -> tuple[int, str]:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        return get

    yield serve
    for health in opened:
        health.close()


@pytest.mark.req("NFR-7")
def test_a_loop_that_hangs_is_named_and_the_process_unhealthy(served: Any):
    health = Health()
    get = served(health)
    health.beat("sweeper", 60)
    assert get("/healthz")[0] == 200
    health.beat("dispatcher", -1)  # its beat was due a second ago
    status, body = get("/healthz")
    assert (status, json.loads(body)) == (503, {"healthy": False, "stale_loops": ["dispatcher"]})
    health.beat("dispatcher", 60)
    assert get("/healthz")[0] == 200


@pytest.mark.req("NFR-1")
def test_ready_means_that_every_part_is_there_and_nothing_drains(served: Any):
    there = threading.Event()
    health = Health({"postgres": there.is_set})
    get = served(health)
    assert get("/readyz")[0] == 503
    there.set()
    assert get("/readyz")[0] == 200
    health.ready("publisher", ok=False, detail="refused")
    status, body = get("/readyz")
    assert status == 503
    assert json.loads(body)["parts"]["publisher"] == {"ok": False, "detail": "refused"}
    health.ready("publisher", ok=True)
    health.draining()
    assert get("/readyz")[0] == 503
    assert get("/healthz")[0] == 200


@pytest.mark.req("NFR-1")
def test_a_check_that_raises_is_a_part_that_is_not_there(served: Any):
    get = served(Health({"postgres": lambda: 1 / 0 > 0}))
    status, body = get("/readyz")
    assert status == 503
    assert json.loads(body)["parts"]["postgres"]["detail"] == "ZeroDivisionError"


@pytest.mark.req("FR-13")
def test_metrics_of_the_registry_are_served_and_other_paths_are_not(served: Any):
    registry = CollectorRegistry()
    Counter("apples", "Apples.", registry=registry).inc(3)
    get = served(Health(registry=registry))
    status, body = get("/metrics")
    assert status == 200
    assert "\napples_total 3.0\n" in body
    assert get("/")[0] == 404


CHILD = """
from scrapejobs.telemetry import events
events.tick("child", 0.01)
"""
PARENT = """
import subprocess, sys
from pathlib import Path
from scrapejobs.telemetry import metrics
directory = Path(sys.argv[1])
metrics.share_with_parent(directory)
for _ in range(2):
    subprocess.run([sys.executable, "-c", sys.argv[2]], check=True)
registry = metrics.registry_for_parent(directory)
print(registry.get_sample_value("scrapejobs_tick_seconds_count", {"loop": "child"}))
"""


@pytest.mark.req("FR-13")
def test_a_parent_shows_what_its_children_counted_also_those_that_are_gone(tmp_path: Path):
    root = Path(__file__).resolve().parents[2]
    (tmp_path / "counter_1.db").write_bytes(b"left by an earlier process")
    done = subprocess.run(
        [sys.executable, "-c", PARENT, str(tmp_path), CHILD],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "2.0\n"
