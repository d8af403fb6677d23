"""`make up` and `make demo`: the commands behind them, on servers and a data directory of their own."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from scrapejobs.adapters.embedded import free_port
from scrapejobs.ops.local.demo_target import DemoTarget, body_of
from tests import servers

STOP_S = 30.0
WAIT_S = 60.0


class Up:
    """A `manage.py up` in a directory whose name has a space, and what it printed."""

    def __init__(self, base: Path, *, port: int, **settings: str) -> None:
        self.port = port
        self.data_dir = base / "data of a stack"
        self.environment = {
            **servers.without_settings(),
            "PORT": str(port),
            "DATA_DIR": str(self.data_dir),
            "SCRAPEJOBS_EGRESS_ALLOW": "127.0.0.0/8",
            **settings,
        }
        self._base = base

    def start(self) -> None:
        """Start it; `lines` are what it says on stdout, the last of which says that it is ready."""
        self._log = (self._base / "log").open("w")
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=servers.ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.lines: list[str] = []
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("ready "):
                return
        raise AssertionError(f"it ended without being ready:\n{(self._base / 'log').read_text()}")

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=servers.ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def stop(self) -> int:
        self.process.terminate()
        return self.wait()

    def kill_everything(self) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        status = self.process.wait(STOP_S)
        self.process.stdout.close()
        self._log.close()
        return status

    @property
    def key(self) -> str:
        return json.loads((self.data_dir / "access.json").read_text())["api_key"]

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def processes(self, *words: str) -> list[int]:
        """Every process that was given this data directory or a setting of it, and whose arguments have the words."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                arguments = (process / "cmdline").read_bytes().decode().split("\0")
                ours = f"DATA_DIR={self.data_dir}".encode() in (process / "environ").read_bytes().split(b"\0")
                if (ours or str(self.data_dir) in arguments) and set(words) <= set(arguments):
                    found.append(int(process.name))
        return found


@pytest.fixture(scope="module")
def stack() -> Iterator[Up]:
    base = Path(tempfile.mkdtemp(prefix="scrapejobs-up-"))
    base.chmod(0o711)
    stack = Up(base, port=free_port(), SCRAPEJOBS_LEASE_S="3", SCRAPEJOBS_SWEEP_S="1")
    stack.start()
    yield stack
    if stack.process.poll() is None:
        stack.stop()
    servers.remove(stack.data_dir)
    (base / "log").unlink()
    base.rmdir()


@pytest.fixture
def up(stack: Up) -> Up:
    """The stack of this module, running: a test before may have stopped it."""
    if stack.process.poll() is not None:
        stack.start()
    return stack


@pytest.fixture
def target() -> Iterator[str]:
    with DemoTarget() as site:
        yield site.url


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.05)


def submitted(stack: Up, url: str) -> str:
    answer = requests.post(
        f"{stack.api}/jobs", json={"url": url}, headers={"Authorization": f"Bearer {stack.key}"}, timeout=10
    )
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def status_of(stack: Up, job_id: str) -> str | None:
    """The job's status; None while the gateway is down."""
    headers = {"Authorization": f"Bearer {stack.key}"}
    try:
        answer = requests.get(f"{stack.api}/jobs/{job_id}", headers=headers, timeout=10)
    except requests.ConnectionError:
        return None
    assert answer.status_code == 200, answer.text
    return answer.json()["status"]


@pytest.mark.req("FR-1")
def test_up_says_where_everything_is_and_the_printed_curl_line_works(up: Up, target: str):
    text = "\n".join(up.lines)
    assert up.lines[-1] == f"ready http://127.0.0.1:{up.port}"
    assert f"{up.api}/docs" in text
    assert f"{up.api}/admin/" in text
    assert up.key in text
    curl = re.search(r"^  (curl .*\\\n.*)$", text, re.MULTILINE)[1].replace("https://example.com/", f"{target}/page")
    done = subprocess.run(["sh", "-c", curl], capture_output=True, text=True, check=True)
    job_id = json.loads(done.stdout)["id"]
    wait_for(lambda: status_of(up, job_id) == "succeeded", "the job of the curl line succeeds")
    lines = re.search(r"^  (export SCRAPEJOBS_URL=.*\n.* submit - --wait)$", text, re.MULTILINE)[1]
    lines = lines.replace("https://example.com/", f"{target}/page")
    lines = lines.replace(".venv/bin/scrapejobs", f'"{sys.executable}" -m scrapejobs_client')
    environment = {**servers.without_settings(), "PYTHONPATH": str(servers.ROOT / "client")}
    done = subprocess.run(["sh", "-c", lines], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "succeeded" in done.stdout


@pytest.mark.req("FR-1")
@pytest.mark.req("FR-3")
@pytest.mark.req("FR-8")
def test_the_quickstart_works_line_by_line(up: Up, target: str, tmp_path: Path):
    text = (servers.ROOT / "docs/howto/quickstart.md").read_text().partition("## In containers")[0]
    demo, start, *blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert (demo, start) == ("make demo\n", "make up\n")  # shown below, and running
    lines = "".join(blocks).replace("http://127.0.0.1:8000", up.api).replace("https://example.com/", f"{target}/page")
    for written in ("results", "urls.txt"):
        lines = lines.replace(written, str(tmp_path / written))
    installed = {"python": f'"{sys.executable}"', "scrapejobs": f'"{sys.executable}" -m scrapejobs_client'}
    lines = re.sub(r"\.venv/bin/(python|scrapejobs)", lambda found: installed[found[1]], lines)
    environment = {**up.environment, "PYTHONPATH": str(servers.ROOT / "client")}
    argv = ["bash", "-euo", "pipefail", "-c", lines]
    done = subprocess.run(argv, cwd=servers.ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "succeeded" in done.stdout
    results = [file for file in (tmp_path / "results").iterdir() if not file.name.startswith(".")]
    assert len(results) == 4  # one by the command line, three by the example
    assert {file.read_bytes() for file in results} == {
        body_of("/page"),
        *(body_of(f"/page?page={n}") for n in (1, 2, 3)),
    }
    assert '"status":"queued"' in done.stdout  # by curl


@pytest.mark.req("FR-12")
def test_every_command_with_the_same_data_dir_reaches_the_same_stack(up: Up):
    assert up.command("tenants", "add", "neighbour").returncode == 0
    key = up.command("create_key", "--tenant", "neighbour")
    assert key.returncode == 0, key.stderr
    answer = requests.get(f"{up.api}/jobs", headers={"Authorization": f"Bearer {key.stdout.strip()}"}, timeout=10)
    assert answer.json()["items"] == []


@pytest.mark.req("NFR-12")
def test_what_opens_the_stack_is_for_its_owner_alone(up: Up):
    for name in ("stack.env", "access.json", "servers.json"):
        assert (up.data_dir / name).stat().st_mode & 0o777 == 0o600


def test_a_second_stack_in_the_same_data_dir_is_refused_in_one_line(up: Up):
    second = up.command("up")
    assert second.returncode == 1
    assert second.stderr == f"a stack runs already in {up.data_dir}\n"


def test_a_busy_port_is_said_in_one_line(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        stack = Up(tmp_path, port=port)
        try:
            done = stack.command("up")
        finally:
            servers.remove(stack.data_dir)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"port {port} is in use; another one: make up PORT={port + 1}"


@pytest.mark.req("NFR-3")
@pytest.mark.case("S7")
@pytest.mark.parametrize("role", ["gateway", "publisher", "scheduler", "worker"])
def test_a_killed_role_is_started_again_and_the_job_goes_on(up: Up, target: str, role: str):
    job_id = submitted(up, f"{target}/slow/{role}")
    before = up.processes("run_role", role)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: status_of(up, job_id) == "succeeded", "the job succeeds")
    wait_for(lambda: set(up.processes("run_role", role)) - set(before), f"another {role} runs")


@pytest.mark.req("FR-8")
def test_the_demo_shows_every_kind_of_end_and_the_same_bytes(up: Up):
    done = up.command("demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the bytes are the same" in done.stdout
    assert f"API at {up.api}" in done.stdout  # it used the stack that runs
    for word in ("high", "normal", "low", "demo-shop", "demo-analyst", "http_410"):
        assert word in done.stdout


@pytest.mark.req("NFR-3")
@pytest.mark.case("S7")
def test_after_a_kill_of_everything_the_stack_comes_up_with_all_it_had(up: Up, target: str):
    job_id, key = submitted(up, f"{target}/slow/kept"), up.key
    up.kill_everything()
    up.start()
    assert up.key == key
    wait_for(lambda: status_of(up, job_id) == "succeeded", "the job succeeds")


@pytest.mark.req("NFR-3")
def test_a_stop_ends_every_process_within_30_s(up: Up):
    assert up.stop() == 0
    wait_for(lambda: not up.processes(), "every process has ended")
    assert not (up.data_dir / "stack.env").exists()
