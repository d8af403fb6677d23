"""SIGTERM and SIGINT. While a role starts, and once it has left, it holds nothing: then they end the process at once,
with 0, as after a drain (P8). Imports nothing heavy, for it has to come before everything that takes time.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def end_at_once() -> None:
    """From here on a stop ends this process."""
    for number in SIGNALS:
        signal.signal(number, _end)


@contextmanager
def instead(told: Callable[[], object]) -> Iterator[None]:
    """Within, a stop calls `told`, in the main thread, between any two of its steps. Then what held before holds."""
    before = {number: signal.signal(number, lambda *_: told()) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore() -> None:
    """A stop changes nothing any more: the process ends anyway, and Python's own last steps must not be cut short."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def end() -> NoReturn:
    """All is handed over, and nothing is waited for any more: a thread may still ask a server that does not answer."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)


def _end(*_: Any) -> None:
    os._exit(0)
