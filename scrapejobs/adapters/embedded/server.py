"""One server run as a child process: started, found again after a crash, stopped."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scrapejobs.adapters.embedded.account import Account
from scrapejobs.adapters.embedded.errors import EmbeddedError
from scrapejobs.adapters.embedded.parent_death import die_with_parent
from scrapejobs.adapters.embedded.strays import POLL_S, STOP, STOP_S, stop_strays

START_S = 60.0


@dataclass(slots=True, kw_only=True)
class Server:
    """A server of ours, with `directory` as its working directory."""

    name: str
    directory: Path
    log_file: Path
    port: int
    url: str
    argv: Sequence[str]
    answers: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict)
    account: Account | None = None
    leftovers: str = ""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it answers. Raises `EmbeddedError` if it ends or is silent for 60 s."""
        self._clear_the_place()
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own argument list, no shell
                self.argv,
                cwd=self.directory,
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC", **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,  # a Ctrl-C in the terminal is for the parent, which stops us in order
                preexec_fn=die_with_parent(STOP),  # noqa: PLW1509 - system calls only
                **(self.account.as_keywords() if self.account else {}),
            )
        self._wait_until_it_answers()

    def stop(self) -> None:
        """End it in order; by force after 20 s. Nothing happens if it does not run."""
        self._end(STOP)

    def kill(self) -> None:
        """End it as a crash would: SIGKILL."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_S
        while not self.answers():
            if not self.is_running:
                raise EmbeddedError(f"{self.name} ended at start: {self._last_words()}")
            if time.monotonic() > deadline:
                self.stop()
                raise EmbeddedError(f"{self.name} did not answer within {START_S:.0f} s: {self._last_words()}")
            time.sleep(POLL_S)

    def _last_words(self) -> str:
        lines = self.log_file.read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-3:]) or "(it said nothing)"

    def _clear_the_place(self) -> None:
        """Stop what still runs here, such as the children of a killed server, and remove what it left lying."""
        stop_strays(self.directory)
        if self.leftovers:
            for leftover in self.directory.glob(self.leftovers):
                leftover.unlink()
