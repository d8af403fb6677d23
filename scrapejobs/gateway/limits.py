"""How many requests a client may make: a token bucket for each key, and one for each address that shows none in force
(FR-12). Told by `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10).
"""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address
from math import ceil
from typing import Any, Final

from scrapejobs.adapters.limiter import Allowance, Limit
from scrapejobs.gateway.context import context
from scrapejobs.gateway.problems import Problem
from scrapejobs.gateway.waiting import AGAIN

ALLOWANCE: Final = "scrapejobs.allowance"
"""Where in the environ the caller's `Allowance` is, for the answer to tell it."""

BULK_SHARE: Final = 0.02
"""What each job of a bulk costs beside the request itself: fifty jobs are worth one more request."""


def charge(meta: dict[str, Any], *, key: int, limit: Limit) -> None:
    """A request of a key. Raises `Problem` quota-exceeded when it is one too many."""
    if AGAIN not in meta:  # what is held and asked again was charged when it came
        _take(meta, f"key:{key}", limit)


def charge_jobs(meta: dict[str, Any], *, key: int, limit: Limit, n: int) -> None:
    """What `n` jobs in one request cost besides: later requests wait for it."""
    meta[ALLOWANCE] = context().limiter.take(f"key:{key}", limit, cost=n * BULK_SHARE, owes=True)


def charge_stranger(meta: dict[str, Any]) -> None:
    """A request without a key in force, by its address. Raises `Problem` quota-exceeded."""
    config = context().config
    address = address_of(meta, trusted=config.trusted_proxies)
    _take(meta, f"address:{address}", Limit(config.stranger_rate, config.stranger_burst))


def _take(meta: dict[str, Any], name: str, limit: Limit) -> None:
    allowance = meta[ALLOWANCE] = context().limiter.take(name, limit)
    if not allowance.is_allowed:
        raise Problem("quota-exceeded", headers={"Retry-After": str(ceil(allowance.wait_s) or 1)})


def edition_of(meta: Mapping[str, Any]) -> str | None:
    """The edition of keys and tenants that a request has heard of."""
    allowance: Allowance | None = meta.get(ALLOWANCE)
    return allowance.edition if allowance is not None else None


def headers_of(allowance: Allowance) -> dict[str, str]:
    """The quota: `q` requests in `w` seconds, `r` of them left, and the seconds `t` until one is."""
    limit = allowance.limit
    return {
        "RateLimit-Policy": f'"requests";q={int(limit.burst)};w={ceil(limit.burst / limit.rate)}',
        "RateLimit": f'"requests";r={allowance.remaining};t={ceil(allowance.wait_s)}',
    }


def address_of(meta: Mapping[str, Any], *, trusted: Sequence[IPv4Network | IPv6Network]) -> str:
    """The client's address: of the connection, or if that is a proxy's that we trust, the last one in X-Forwarded-For
    that is none of those. What stands before it anybody could have written.
    """
    hops = [part.strip() for part in str(meta.get("HTTP_X_FORWARDED_FOR", "")).split(",")]
    address = str(meta.get("REMOTE_ADDR", ""))
    while hops and _is_within(address, trusted):
        hop = hops.pop()
        if not _is_address(hop):
            break
        address = hop
    return address


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_within(text: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    return _is_address(text) and any(ip_address(text) in network for network in networks)
