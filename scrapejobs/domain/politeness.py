"""How many jobs may start at a host now, and when that changes by time alone. (NFR-6, FR-11)

Pure arithmetic: times are float seconds of a monotonic clock and never go back, rates are starts per second.
"""

from dataclasses import dataclass

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
    """In any stretch of `t` seconds at most `burst + rate * t` tokens leave it."""

    __slots__ = ("at", "burst", "level", "rate")

    def __init__(self, *, rate: float, burst: float, empty_at: float) -> None:
        """A bucket that was empty at `empty_at` and has been filling since (`EVER`: it is full)."""
        self.rate = rate
        self.burst = burst
        self.level = 0.0
        self.at = empty_at

    def refill(self, now: float) -> float:
        """The level at `now`. A time before the last one counts as the last one."""
        if now > self.at:
            self.level = min(self.burst, self.level + (now - self.at) * self.rate)
            self.at = now
        return self.level

    def take(self) -> None:
        self.level -= 1

    def put_back(self) -> None:
        self.level = min(self.burst, self.level + 1)

    def reaches(self, level: float) -> float:
        """When the level will be `level` if nothing is taken; infinity if that is more than it holds."""
        if level > self.burst:
            return INFINITY
        return self.at + max(0.0, level - self.level) / self.rate + ROUNDING_S

    def change(self, now: float, *, rate: float, burst: float) -> None:
        """New `rate` and `burst` from `now` on; the level stays, as far as the new burst holds it."""
        self.refill(now)
        self.rate, self.burst = rate, burst
        self.level = min(self.level, burst)


class Gate:
    """The entrance of one host: its limits, its load, and whether it is closed.

    A start needs a free slot and a whole token, and the gate open. The caller asks `room` first; `start` does
    not check.
    """

    __slots__ = ("bucket", "closed_until", "concurrency", "running")

    def __init__(self, limits: HostLimits, *, empty_at: float = EVER) -> None:
        self.running = 0
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
        return min(free, int(self.bucket.refill(now) + ROUNDING_TOKENS))

    def room_at(self, now: float, n: int) -> float:
        """When room for `n` may be there by time alone; infinity if only a job's end can bring it."""
        if self.running + n > self.concurrency:
            return INFINITY
        if self.bucket is None:
            return max(now, self.closed_until)
        self.bucket.refill(now)
        return max(now, self.closed_until, self.bucket.reaches(n))

    def start(self) -> TokenBucket | None:
        """One job more, one token less. Returns the bucket to put it back into should the job never start."""
        self.running += 1
        if self.bucket is not None:
            self.bucket.take()
        return self.bucket

    def change(self, now: float, limits: HostLimits) -> None:
        """New limits from `now` on. A first rate starts with an empty bucket: nothing was counted before."""
        self.concurrency = INFINITY if limits.concurrency is None else limits.concurrency
        if limits.rate is None:
            self.bucket = None
        elif self.bucket is None:
            self.bucket = TokenBucket(rate=limits.rate, burst=limits.burst, empty_at=now)
        else:
            self.bucket.change(now, rate=limits.rate, burst=limits.burst)

    def untouched_at(self, now: float) -> float:
        """When, with nothing more happening, this gate will be like a new one: open, and its bucket full."""
        if self.bucket is None:
            return max(now, self.closed_until)
        self.bucket.refill(now)
        full = now if self.bucket.level >= self.bucket.burst else self.bucket.reaches(self.bucket.burst)
        return max(now, self.closed_until, full)
