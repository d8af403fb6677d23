"""Points at which a process kills itself, so that tests see what a crash right there leaves behind (ADR-0018, NFR-3).

A point is `<place>:<moment>`, such as `report:committed`. Off unless armed; then the process that serves gets SIGKILL
from itself when it first comes there, and has said so on stderr.
"""

import os
import signal
from typing import Final

_known: Final[set[str]] = set()
_armed: Final[set[str]] = set()


class UnknownFailpoint(Exception):  # noqa: N818 - says what it is
    """No code that is loaded has such a point; the text lists those it has."""


def declare(place: str, *moments: str) -> None:
    """Makes the moments of a place known, as the module that reaches them is imported."""
    _known.update(f"{place}:{moment}" for moment in moments)


def arm(point: str | None) -> None:
    """From now on this process ends at `point`; None: nowhere. Raises `UnknownFailpoint`."""
    if point is not None and point not in _known:
        raise UnknownFailpoint(f"SCRAPEJOBS_FAILPOINT: no such point as {point!r}; there are {', '.join(known())}")
    _armed.clear()
    if point is not None:
        _armed.add(point)


def known() -> tuple[str, ...]:
    """Every point of the code that is loaded."""
    return tuple(sorted(_known))


def reach(place: str, moment: str) -> None:
    """Does not return at the armed point."""
    if _armed and f"{place}:{moment}" in _armed:
        os.write(2, f"killed at failpoint {place}:{moment}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
