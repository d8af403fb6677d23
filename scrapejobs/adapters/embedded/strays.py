"""Server processes that outlived their parent, known by their program and working directory: no pid file to lie."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = frozenset({"postgres", "valkey-server", "rclone"})
STOP_S = 20.0
POLL_S = 0.05
STOP = signal.SIGINT  # for PostgreSQL "fast": ends sessions, keeps what is committed; Valkey and rclone just end


def stop_strays(directory: Path) -> None:
    """Stop every server that runs in `directory`; by force after 20 s. Nobody else who is there is touched."""
    deadline = time.monotonic() + STOP_S
    while found := list(_strays(directory.resolve())):
        number = STOP if time.monotonic() < deadline else signal.SIGKILL
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(POLL_S)


def _strays(directory: Path) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended while we looked, or is another user's
            program = (process / "exe").readlink().name.removesuffix(" (deleted)")
            if program in PROGRAMS and (process / "cwd").readlink() == directory:
                yield int(process.name)
