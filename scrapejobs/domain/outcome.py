"""What an attempt ends with: values, never exceptions (ADR-0004), and the one table of failure codes.

The line between temporary and permanent is not the code but whether another try can give another outcome
(requirements, life of a job). Texts here are ours alone: no byte of a target's answer enters an error text,
for it would be a read oracle for internal services and a way into the logs (NFR-11).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Phase = Literal["dns", "connect", "tls", "headers", "body", "store"]
OutcomeClass = Literal["temporary", "permanent"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One redirect that was answered: the URL asked, its query masked, and the status of the answer."""

    url: str
    status: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was seen on the wire in one attempt, for its history (FR-7).

    `phase` is the last one entered, `timings` the seconds spent in each, redirects together, `bytes_read` the body
    bytes received before decoding, `wire_requests` how many requests the target saw. For the operator alone: the
    `address` dialled last, and `evidence`, the first bytes of a refused answer as `domain.evidence` makes them safe.
    """

    phase: Phase = "dns"
    elapsed_s: float = 0.0
    target_status: int | None = None
    bytes_read: int = 0
    address_family: Literal["ipv4", "ipv6"] | None = None
    redirects: tuple[Hop, ...] = ()
    wire_requests: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)
    address: str | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result that can be read in the object store; sizes in bytes, `sha256` in hex, of what was stored."""

    key: str
    size: int
    sha256: str
    content_type: str | None
    charset: str | None
    headers: tuple[tuple[str, str], ...]
    final_url: str
    status: int
    complete: Literal["yes", "unknown"]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """The target answered and its answer is in the object store."""

    result: StoredResult
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Temporary:
    """A failure after which another try can end otherwise. `retry_after_s` is what the target asked for."""

    code: str
    detail: str = ""
    phase: Phase | None = None
    retry_after_s: float | None = None
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True)
class Permanent:
    """A failure that another try would only repeat."""

    code: str
    detail: str = ""
    phase: Phase | None = None
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True)
class Released:
    """Handed back unfinished by a worker that drains or could not renew in time; not charged as an attempt.
    `sent`: the target may have seen it.
    """

    sent: bool = True


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease expired: its worker died or was cut off."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The client cancelled the job while it ran."""


Outcome = Stored | Temporary | Permanent | Released | Lost | Cancelled
Failure = Temporary | Permanent


CODES: Mapping[str, tuple[OutcomeClass, str]] = MappingProxyType(
    {
        # the way to the target
        "dns_temporary": ("temporary", "the name could not be looked up now"),
        "dns_not_found": ("permanent", "the name does not exist"),
        "connection_refused": ("temporary", "the target refused the connection"),
        "connection_reset": ("temporary", "the connection was cut"),
        "disconnected": ("temporary", "the target closed the connection without an answer"),
        "unreachable": ("temporary", "no way to the target's address"),
        "tls_invalid": ("permanent", "the target's certificate is not valid for it"),
        "tls_failed": ("permanent", "no TLS connection could be agreed with the target"),
        "timeout": ("temporary", "the target did not answer in time"),
        "too_slow": ("temporary", "the body came slower than the minimum rate"),
        # what may not be reached
        "blocked_address": ("permanent", "the address may not be fetched"),
        "blocked_scheme": ("permanent", "only http and https may be fetched"),
        "blocked_port": ("permanent", "the port may not be fetched"),
        "host_opted_out": ("permanent", "the owner of the host does not want it to be fetched"),
        "robots_denied": ("permanent", "the robots.txt of the host does not let the service fetch this"),
        "invalid_url": ("permanent", "the URL is not valid"),
        # the answer
        "not_http": ("permanent", "the target does not speak HTTP"),
        "protocol_error": ("permanent", "the answer breaks HTTP"),
        "headers_too_large": ("permanent", "the answer's headers are above the limit"),
        "body_too_large": ("permanent", "the body is above the limit"),
        "body_incomplete": ("temporary", "the body ended too soon"),
        "body_corrupt": ("temporary", "the compressed body is damaged"),
        "too_many_redirects": ("permanent", "too many redirects"),
        "redirect_invalid": ("permanent", "a redirect without a valid Location"),
        "unexpected_content": ("permanent", "the answer is not what the job expects"),
        # our side
        "secrets_locked": ("temporary", "the worker lacks the key that the job's secrets are sealed with"),
        "secrets_damaged": ("permanent", "the job's secrets cannot be read any more"),
        "worker_error": ("temporary", "the worker failed at this job"),
        "no_permit": ("temporary", "the host that a redirect led to had no room before the attempt's time-out"),
        "proxy_unavailable": ("temporary", "the service's egress proxy does not do its work"),
        "store_unavailable": ("temporary", "the object store did not take the answer before the job's deadline"),
    }
)

_SUCCESS = range(200, 300)
_SERVER_ERROR = range(500, 600)
# RFC 9110 and RFC 6585: the target says itself that another time may do, or it is out of order.
# 501 and 505 speak of the request, not of the moment.
_TEMPORARY_STATUSES = frozenset({408, 425, 429})
_PERMANENT_5XX = frozenset({501, 505})


def class_of(code: str) -> OutcomeClass:
    """Whether a failure code is temporary or permanent. Raises `KeyError` for a code that does not exist."""
    if code.startswith("http_"):
        return _class_of_status(int(code.removeprefix("http_")))
    return CODES[code][0]


def text_of(code: str) -> str:
    """A failure code in words, safe to show to anyone."""
    if code.startswith("http_"):
        return f"the target answered {code.removeprefix('http_')}"
    return CODES[code][1]


def failure(
    code: str,
    *,
    detail: str = "",
    phase: Phase | None = None,
    retry_after_s: float | None = None,
    exchange: Exchange | None = None,
) -> Failure:
    """The failure of that code, in the class the table gives it; `detail` defaults to the table's text."""
    detail = detail or text_of(code)
    if class_of(code) == "temporary":
        return Temporary(code, detail, phase, retry_after_s, exchange)
    return Permanent(code, detail, phase, exchange)


def is_success(status: int, *, accepted: frozenset[int] = frozenset()) -> bool:
    """Whether an answer's status is a success: any 2xx, or one that the job named in `accept_statuses`."""
    return status in _SUCCESS or status in accepted


def _class_of_status(status: int) -> OutcomeClass:
    if status in _TEMPORARY_STATUSES or (status in _SERVER_ERROR and status not in _PERMANENT_5XX):
        return "temporary"
    return "permanent"
