"""Waiting for a condition, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, what: str, at_most_s: float = 60.0) -> T:
    """The condition's first true value. The bound only ends a test that would hang."""
    give_up_at = time.monotonic() + at_most_s
    while not (value := condition()):
        if time.monotonic() > give_up_at:
            raise AssertionError(f"waited {at_most_s:g} s in vain for {what}")
        time.sleep(0.02)
    return value
