"""Work in committed batches that a person may stop: Ctrl-C is heard between two of them, never within one."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Stop:
    """Whether the person wants no further batch."""

    asked: bool = False


@contextmanager
def stopped_by_ctrl_c() -> Iterator[Stop]:
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
