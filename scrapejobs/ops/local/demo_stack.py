"""The stack that a demo uses: the one that runs in this checkout, or one of its own for as long as it takes."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

from scrapejobs.adapters.embedded import die_with_parent, free_port
from scrapejobs.config import PREFIX, stack_env
from scrapejobs.ops.local.supervisor import is_ready
from scrapejobs.ops.local.up import EXTERNAL, ROOT

LOOPBACK = "127.0.0.0/8"
EGRESS = f"{PREFIX}EGRESS_ALLOW"
STOP_S = 45.0


class DemoError(Exception):
    """The demo cannot go on; the text is for the person who started it."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Where the API is, and the environment by which management commands reach the same stack."""

    api_url: str
    environment: Mapping[str, str]

    def command(self, *arguments: str) -> str:
        """Run `manage.py` with these arguments; what it prints. Raises `DemoError` with its last words."""
        done = subprocess.run(  # noqa: S603 - our own argument list, no shell
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise DemoError(f"manage.py {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip()


def running_stack(*, to_loopback: bool) -> Stack | None:
    """The stack of this checkout and `DATA_DIR`, if it runs and, where that is needed, may fetch from loopback."""
    settings = dotenv_values(stack_env()) if stack_env().is_file() else {}
    api_url, port = settings.get(f"{PREFIX}API_URL"), settings.get("PORT") or "8000"
    if not api_url or not is_ready(int(port)):
        return None
    if to_loopback and LOOPBACK not in (settings.get(EGRESS) or ""):
        return None
    return Stack(api_url, dict(os.environ))


@contextlib.contextmanager
def own_stack() -> Iterator[Stack]:
    """A stack on free ports in a directory of its own, which ends and is removed with the block."""
    base = Path(tempfile.mkdtemp(prefix="scrapejobs-demo-"))
    base.chmod(0o711)  # as root, the database server's other user passes through
    data_dir, port = base / "data", free_port()
    kept = {k: v for k, v in os.environ.items() if k not in EXTERNAL.values() and not k.startswith((PREFIX, "S3_"))}
    environment = {
        **kept,
        "PORT": str(port),
        "WORKERS": "1",
        "DATA_DIR": str(data_dir),
        EGRESS: LOOPBACK,
        f"{PREFIX}RETRY_BASE_S": "0.5",
    }
    try:
        with (base / "log").open("w+") as log, _up(environment, log.fileno()) as child:
            url = _wait_for_ready(child)
            if url is None:
                log.seek(0)
                raise DemoError(f"the stack did not come up:\n{log.read()[-2000:]}")
            yield Stack(url, environment)
    finally:
        cluster = data_dir / "postgres"
        if cluster.is_symlink():
            shutil.rmtree(cluster.readlink().parent, ignore_errors=True)
        shutil.rmtree(base, ignore_errors=True)


@contextlib.contextmanager
def _up(environment: Mapping[str, str], log: int) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "manage.py", "up"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        process_group=0,  # a Ctrl-C in the terminal is for the demo, which stops the stack
        preexec_fn=die_with_parent(signal.SIGTERM),  # noqa: PLW1509 - system calls only
    )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _wait_for_ready(child: subprocess.Popen[str]) -> str | None:
    """The address in the line that says so; None if the process ended without one."""
    for line in child.stdout or ():
        if line.startswith("ready "):
            return line.split()[1]
    return None
