"""Work in committed batches that a person may stop: Ctrl-C is heard between two of them, never within one."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from django.core.management.base import CommandError, OutputWrapper

from scrapejobs.ops.console import INTERRUPTED
from scrapejobs.ops.progress import shown_progress


@dataclass(slots=True)
class Stop:
    """Whether the person wants no further batch."""

    asked: bool = False


def work_through(batches: Iterable[int], *, total: int, done: str, out: OutputWrapper) -> None:
    """Takes batch after batch, each of which says how many it did, shows how far it is of `total`, and in the end says
    how many are `done`. Raises `CommandError` when it was stopped before the end.
    """
    n_done = 0
    stopped = False
    try:
        with _stopped_by_ctrl_c() as stop, shown_progress(done, total=total) as advance:
            for n in batches:
                n_done += n
                advance(n)
                if stopped := stop.asked and n_done < total:
                    break
    finally:
        out.write(f"{n_done} {done}")
    if stopped:
        raise CommandError("stopped; run the same command again to go on", returncode=INTERRUPTED)


@contextmanager
def _stopped_by_ctrl_c() -> Iterator[Stop]:
    """Gives what the first Ctrl-C sets; the second one interrupts at once, and a batch under way is rolled back."""
    stop = Stop()

    def ask(_signum: int, _frame: FrameType | None) -> None:
        stop.asked = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
