"""Where the gateway's processes share their metrics: a folder that lives as long as the process that made it."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "scrapejobs-metrics-"


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """A new folder for as long as the context lasts. What killed processes left behind is removed first: the living
    hold a lock on theirs, so age says nothing.
    """
    base = Path(tempfile.gettempdir())
    for left in base.glob(f"{PREFIX}*"):
        _remove_unless_held(left)
    folder, lock = _make()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _make() -> tuple[Path, int]:
    """A folder and the lock on it. One that another process took for a dead one's before it was locked is made anew."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_unless_held(folder: Path) -> None:
    with suppress(OSError):  # held, another user's, or gone meanwhile
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        finally:
            os.close(lock)
