"""How many jobs may start at a host now, and when that changes by time alone. (NFR-6, FR-11)

Pure arithmetic: times are float seconds of a monotonic clock and never go back, rates are starts per second.
"""

from dataclasses import dataclass
from typing import Final

START_S: Final = 0.15
"""How long a request may be on its way to its host. So long after the claim, or the permit, its token is spent."""
SEND_WITHIN_S: Final = 0.1
"""What its worker has not sent by then, since the claim or the permit, asks for another permit. The rest of `START_S`
is for the way itself.
"""

INFINITY = float("inf")
EVER = -INFINITY  # "since ever", as a point in time

# A timer set to the very moment at which a token is complete may find it short by rounding: a little later.
ROUNDING_S = 1e-6
ROUNDING_TOKENS = 1e-9


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What a host bears: `rate` starts per second, `burst` of them at once, `concurrency` jobs at a time.

    None means unlimited. A host that shall get nothing is closed, not limited to zero: ValueError.
    """

    rate: float | None = None
    burst: float = 1.0
    concurrency: int | None = None

    def __post_init__(self) -> None:
        if self.rate is not None and not self.rate > 0:
            raise ValueError(f"rate must be above 0 or None, not {self.rate}")
        if not self.burst >= 1:
            raise ValueError(f"burst must be at least 1, not {self.burst}")
        if self.concurrency is not None and self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1 or None, not {self.concurrency}")


class TokenBucket:
    """In any stretch of `t` seconds at most `burst + rate * t` tokens are spent, if each is spent when there is one.

    Kept as one point in time (as in the generic cell rate algorithm, ITU-T I.371), so that a token can be spent at a
    time that has passed already.
    """

    __slots__ = ("burst", "empty_at", "rate")

    def __init__(self, *, rate: float, burst: float, empty_at: float) -> None:
        """A bucket that was empty at `empty_at` and has been filling since (`EVER`: it is full)."""
        self.rate = rate
        self.burst = burst
        self.empty_at = empty_at

    def level(self, now: float) -> float:
        """How many tokens it holds; below 0 if more were spent than it had."""
        return min(self.burst, (now - self.empty_at) * self.rate)

    def spend(self, at: float, *, n: float = 1.0) -> None:
        """So many tokens less, since `at`."""
        self.empty_at = max(self.empty_at, at - self.burst / self.rate) + n / self.rate

    def reaches(self, level: float) -> float:
        """When the level will be `level` if nothing is spent; infinity if that is more than it holds."""
        if level > self.burst:
            return INFINITY
        return self.empty_at + level / self.rate + ROUNDING_S

    def change(self, now: float, *, rate: float, burst: float) -> None:
        """New `rate` and `burst` from `now` on; the level stays, as far as the new burst holds it."""
        level = min(self.level(now), burst)
        self.rate, self.burst, self.empty_at = rate, burst, now - level / rate


class Gate:
    """The entrance of one host: its limits, its load, and whether it is closed.

    A job that is handed out needs a free slot and a whole token, and the gate open. Its token is set aside until it is
    known when the job was claimed, and spent as of then: so the limit holds for the starts, however late they come
    (ADR-0027). The caller asks `room` first; `start` does not check.
    """

    __slots__ = ("bucket", "closed_until", "concurrency", "running", "unclaimed")

    def __init__(self, limits: HostLimits, *, empty_at: float = EVER) -> None:
        self.running = 0
        self.unclaimed = 0  # of those that run: with a token set aside
        self.closed_until = EVER
        self.concurrency: float = INFINITY if limits.concurrency is None else limits.concurrency
        self.bucket: TokenBucket | None = None
        if limits.rate is not None:
            self.bucket = TokenBucket(rate=limits.rate, burst=limits.burst, empty_at=empty_at)

    def room(self, now: float) -> float:
        """How many jobs may start now: a whole number or infinity, 0 or less when none may."""
        if now < self.closed_until:
            return 0
        free = self.concurrency - self.running
        if free <= 0 or self.bucket is None:
            return free
        return min(free, int(self.bucket.level(now) - self.unclaimed + ROUNDING_TOKENS))

    def room_at(self, now: float, n: int) -> float:
        """When room for `n` may be there by time alone; infinity if only a job's end or claim can bring it."""
        if self.running + n > self.concurrency:
            return INFINITY
        if self.bucket is None:
            return max(now, self.closed_until)
        return max(now, self.closed_until, self.bucket.reaches(n + self.unclaimed))

    def start(self) -> None:
        """One job more, with a token set aside."""
        self.running += 1
        self.unclaimed += 1

    def claimed(self, at: float) -> None:
        """One of those set aside is spent, since `at`: its job was claimed then."""
        self.unclaimed -= 1
        if self.bucket is not None:
            self.bucket.spend(at)

    def change(self, now: float, limits: HostLimits) -> None:
        """New limits from `now` on. A first rate starts with an empty bucket: nothing was counted before."""
        self.concurrency = INFINITY if limits.concurrency is None else limits.concurrency
        if limits.rate is None:
            self.bucket = None
        elif self.bucket is None:
            self.bucket = TokenBucket(rate=limits.rate, burst=limits.burst, empty_at=now)
        else:
            self.bucket.change(now, rate=limits.rate, burst=limits.burst)

    def empty(self, now: float) -> None:
        """Its bucket is empty."""
        if self.bucket is not None:
            self.bucket.empty_at = now

    def untouched_at(self, now: float) -> float:
        """When, with nothing more happening, this gate will be like a new one: open, and its bucket full."""
        if self.bucket is None:
            return max(now, self.closed_until)
        return max(now, self.closed_until, self.bucket.reaches(self.bucket.burst))
