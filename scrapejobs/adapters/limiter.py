"""How many requests a client may make: token buckets that all gateways share, in Valkey (FR-12, NFR-5).

While Valkey is away each process counts for itself and grants its share: a limit is never lifted by that, and never
shut. The buckets are those of `domain.politeness`, kept as one point in time.
"""

import contextlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from scrapejobs.domain.politeness import EVER, TokenBucket

PREFIX: Final = "scrapejobs:rate:"
EDITION: Final = "scrapejobs:keys"
"""Names what keys and tenants are at present: each change gives a new one, and so does a flush of Valkey."""

_PATIENCE_S: Final = 0.1
_REST_AFTER_FAILURE_S: Final = 1.0
_MOST_KEPT: Final = 10_000

# The clock is the server's. A bucket is kept until it is full again, for then it says no more than none does.
_TAKE: Final = """
local rate, burst, cost, owes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local empty_at = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now - burst / rate)
local level = (now - empty_at) * rate
local edition = redis.call('GET', KEYS[2])
if not edition then
  edition = 'since ' .. time[1] .. '.' .. time[2]
  redis.call('SET', KEYS[2], edition)
end
if level < cost and not owes then return {0, tostring(level), edition} end
empty_at = empty_at + cost / rate
local full_in_ms = math.max(1, math.ceil((empty_at - now + burst / rate) * 1000))
redis.call('SET', KEYS[1], string.format('%.6f', empty_at), 'PX', full_in_ms)
return {1, tostring(level - cost), edition}
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """`rate` requests a second on average, `burst` at once."""

    rate: float
    burst: float


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a request may go on, and how full its bucket is then; below 0 when more was used than there was.
    `edition`: of keys and tenants, None while Valkey is away.
    """

    is_allowed: bool
    level: float
    limit: Limit
    edition: str | None = None

    @property
    def remaining(self) -> int:
        """Whole requests that may follow at once."""
        return max(0, int(self.level))

    @property
    def wait_s(self) -> float:
        """Seconds until the next one may come."""
        return max(0.0, 1.0 - self.level) / self.limit.rate


class Limiter:
    """Buckets by name. `share`: of a limit, for this process alone while Valkey is away."""

    def __init__(self, url: str, *, share: float) -> None:
        self._client = redis.Redis.from_url(
            url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S, retry=Retry(NoBackoff(), 0)
        )
        self._take = self._client.register_script(_TAKE)
        self._own = _OwnBuckets(share)
        self._rest_until = 0.0

    def take(self, name: str, limit: Limit, *, cost: float = 1.0, owes: bool = False) -> Allowance:
        """Takes tokens of a bucket, if there are so many. `owes`: in any case, and the bucket may be below empty."""
        if time.monotonic() >= self._rest_until:
            try:
                args = [limit.rate, limit.burst, cost, int(owes)]
                is_allowed, level, edition = self._take(keys=[PREFIX + name, EDITION], args=args)
            except (redis.RedisError, OSError):
                self._rest_until = time.monotonic() + _REST_AFTER_FAILURE_S
            else:
                return Allowance(bool(is_allowed), float(level), limit, edition.decode())
        return self._own.take(name, limit, cost=cost, owes=owes)

    def keys_changed(self) -> None:
        """A new edition: what gateways know of keys and tenants is old. Nobody is told while Valkey is away."""
        with contextlib.suppress(redis.RedisError, OSError):
            self._client.set(EDITION, uuid4().hex)


class _OwnBuckets:
    """This process's own buckets, the least used forgotten."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._turn = threading.Lock()

    def take(self, name: str, limit: Limit, *, cost: float, owes: bool) -> Allowance:
        now, limit = time.monotonic(), Limit(limit.rate * self._share, max(1.0, limit.burst * self._share))
        with self._turn:
            bucket = self._buckets.pop(name, None) or TokenBucket(rate=limit.rate, burst=limit.burst, empty_at=EVER)
            bucket.change(now, rate=limit.rate, burst=limit.burst)
            self._buckets[name] = bucket
            if len(self._buckets) > _MOST_KEPT:
                self._buckets.popitem(last=False)
            level = bucket.level(now)
            is_allowed = owes or level >= cost
            if is_allowed:
                bucket.spend(now, n=cost)
        return Allowance(is_allowed, level - cost if is_allowed else level, limit)
