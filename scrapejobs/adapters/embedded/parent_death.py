"""A child that ends with its parent, however the parent ends (Linux, prctl(2) PR_SET_PDEATHSIG)."""

import ctypes
import os
import signal
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl  # looked up here: between fork and exec nothing may be loaded


def die_with_parent(number: signal.Signals) -> Callable[[], None]:
    """For `subprocess.Popen(preexec_fn=...)`: the child gets `number` when the thread that starts it ends."""
    parent = os.getpid()

    def in_child() -> None:
        _prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call above
            os._exit(1)

    return in_child


def follow_parent(number: signal.Signals) -> None:
    """This process gets `number` when the thread that started it ends."""
    _prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
