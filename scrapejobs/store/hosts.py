"""Limits and pauses of hosts (FR-11): rows, changed by commands and admin, read by the dispatcher."""

import ipaddress
from typing import Any, Final
from urllib.parse import urlsplit

from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.target import InvalidUrl, UrlNotAllowed, parse_target
from scrapejobs.store.models import Host
from scrapejobs.store.run import Row, Statement, Steps, verb

LIMITS: Final[tuple[str, ...]] = ("rate", "burst", "concurrency")

_ANY_ADDRESS: Final = EgressPolicy(allow=(ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0")))
_WILDCARD: Final = "*."


class InvalidHostError(ValueError):
    """The text names no host that a job could have."""


def host_name(text: str) -> str:
    """The name under which a host's row is kept: that of its jobs, whatever spelling, scheme and port is given.

    `*.shop.example` speaks of every name below `shop.example`. Raises `InvalidHostError`.
    """
    text = text.strip()
    wildcard, name = (_WILDCARD, text[2:]) if text.startswith(_WILDCARD) else ("", text)
    try:
        target = parse_target(name if "://" in name else f"http://{_authority(name)}/", policy=_ANY_ADDRESS)
    except (InvalidUrl, UrlNotAllowed) as error:
        raise InvalidHostError(f"{text!r} is no host that a job could have: {error}") from None
    if wildcard and (target.is_literal or urlsplit(target.url).path != "/"):
        raise InvalidHostError(f"{text!r} is no host that a job could have: *. takes a domain name")
    return wildcard + target.host_key


def set_limits(name: str, changes: dict[str, Any]) -> Host:
    """Sets the named limits of a host, given as `host_name` gives it; None clears one.

    Raises Django's `ValidationError` for a bad value.
    """
    Host(name=name, **changes).full_clean(validate_unique=False)
    return Host.objects.update_or_create(name=name, defaults=changes)[0]


@verb()
def listing() -> Steps[list[Row]]:
    """Every host that has limits, a pause or an open circuit, by name: the rows of `host/listing.sql`."""
    return (yield Statement("host/listing", {}))


@verb(atomic=True)
def pause(name: str, *, for_s: float | None) -> Steps[None]:
    """Starts no job of a host for so many seconds, or until it is resumed. What runs goes on; what is ready goes back,
    but for that of a `*.` name: within a second no more of its hosts is made ready.
    """
    yield Statement("host/pause", {"name": name, "for_s": for_s})
    yield Statement("ready/hold_back", {"hosts": [name]})


@verb()
def resume(name: str) -> Steps[bool]:
    """Ends a host's pause, whoever made it; False when it had none."""
    return bool((yield Statement("host/resume", {"name": name, "reason": None})))


@verb()
def end_backoff(name: str) -> Steps[bool]:
    """Ends a pause that the host asked for with Retry-After; False when it had none. A person's pause stays."""
    return bool((yield Statement("host/resume", {"name": name, "reason": "retry_after"})))


def _authority(name: str) -> str:
    """A host as a URL holds it: IPv6 addresses in brackets."""
    try:
        return f"[{ipaddress.IPv6Address(name)}]"
    except ValueError:
        return name
