"""A process of the outside world beside the service: the target, the receiver."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from scrapejobs.adapters.embedded.parent_death import die_with_parent
from tests.e2e.service import ROOT


class Beside:
    """`python -m <module>`, which says its port first and keeps its own log."""

    def __init__(self, module: str, log: Path, *options: str) -> None:
        self.log = log
        with log.with_suffix(".out").open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, "--log", str(log), *options],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=out,
                text=True,
                process_group=0,  # a Ctrl-C is for the parent, which ends it
                preexec_fn=die_with_parent(signal.SIGKILL),  # noqa: PLW1509 - system calls only
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(10)
        if self.process.stdout is not None:
            self.process.stdout.close()
