"""Looks over the picker's shoulder: whether a host is ever given more than its limits allow. (NFR-6)

It counts for itself and shares no code with `domain.politeness`.
"""

from collections import Counter
from collections.abc import Callable
from math import inf

from scrapejobs.domain.picking import HostLimits

ROUNDING_S = 1e-5


class Watch:
    """Told of every start, end and pause. A violation is one line of text."""

    def __init__(self, *, limits_of: Callable[[str], HostLimits], violations: list[str]) -> None:
        self._limits_of = limits_of
        self._violations = violations
        self._running: Counter[str] = Counter()
        self._paid_until: dict[str, float] = {}  # the time up to which the starts so far have used the rate
        self._paused_until: dict[str, float] = {}

    def start(self, now: float, host: str) -> None:
        """The generic cell rate algorithm (ITU-T I.371): each start uses 1/rate seconds, `burst` of them in advance."""
        limits = self._limits_of(host)
        self._running[host] += 1
        if limits.concurrency is not None and self._running[host] > limits.concurrency:
            self._violations.append(f"{host} at {now:.3f} s: {self._running[host]} at once")
        if limits.rate is not None:
            paid_until = max(now, self._paid_until.get(host, -inf)) + 1 / limits.rate
            self._paid_until[host] = paid_until
            if paid_until - now > limits.burst / limits.rate + ROUNDING_S:
                self._violations.append(f"{host} at {now:.3f} s: above its rate")
        if now < self._paused_until.get(host, -inf):
            self._violations.append(f"{host} at {now:.3f} s: while it is paused")

    def end(self, host: str) -> None:
        self._running[host] -= 1

    def pause(self, host: str, until: float) -> None:
        self._paused_until[host] = until
