"""Logs that outlive whoever wrote them: one JSON object a line, each written in one append."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Journal:
    """Appends lines to a file; safe from several threads and processes, for a line is one `write` with O_APPEND."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, **what: Any) -> None:
        """Adds a line with the time of the machine (`at`, Unix seconds) and of its monotonic clock (`tick`)."""
        line = json.dumps({"at": time.time(), "tick": time.monotonic(), **what})
        os.write(self._fd, line.encode() + b"\n")

    def close(self) -> None:
        os.close(self._fd)


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a journal; nothing for a file that is not there."""
    if not file.exists():
        return
    with file.open() as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)
