"""What may be seen of a job, and what is its secret (NFR-12; ADR-0025).

What is shown is listed; whatever this does not know is masked. Rows hold the masked form, and the rest of it sealed, so
that whoever shows a row cannot show a secret.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MASK: Final = "***"

_PLAIN: Final = frozenset(
    {"method", "timeout_s", "max_bytes", "max_attempts", "deadline_s", "follow_redirects", "accept_statuses"}
    | {"retry_unsafe", "robots", "expect"}
)
_PLAIN_HEADERS: Final = frozenset(
    {"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-type", "dnt", "from"}
    | {"if-modified-since", "if-none-match", "origin", "pragma", "range", "user-agent", "x-requested-with"}
)
"""Of a job's own headers, those that carry no secret. Any other may: `authorization`, `cookie`, `x-api-key`, ..."""

_SECRET_NAME: Final = re.compile(r"auth|cookie|credential|key|nonce|passw|pwd|secret|session|sign|token|csrf|xsrf|jwt")
_LINK_HEADERS: Final = frozenset({"content-location", "location", "refresh", "link", "x-accel-redirect"})
"""Of a target's answer, the headers that hold URLs."""

_QUERY: Final = re.compile(r"\?[^\s\"'<>]*")


@dataclass(frozen=True, slots=True)
class Request:
    """A job's request in two parts: as it may be seen, and what of it is secret, whole, by name of its part. `secret`
    is empty when everything may be seen.
    """

    url: str
    params: dict[str, Any]
    secret: dict[str, Any] = field(default_factory=dict)


def parted(url: str, params: Mapping[str, Any]) -> Request:
    """A request parted into what may be seen and what is secret: header values that are not known to be harmless, the
    values of queries, bodies.
    """
    seen_url, seen = masked_url(url), masked_params(params)
    secret = {name: value for name, value in params.items() if value != seen[name]}
    if url != seen_url:
        secret["url"] = url
    return Request(seen_url, seen, secret)


def whole(request: Request) -> tuple[str, dict[str, Any]]:
    """URL and params of a request as it was before it was parted."""
    secret = dict(request.secret)
    return secret.pop("url", request.url), request.params | secret


def masked_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """A job's params to look at: harmless headers whole, of the others and of query fields the names alone, no body."""
    return {name: _masked(name, value) for name, value in params.items()}


def masked_url(url: str) -> str:
    """A URL to look at: of its query the names alone, nothing of a fragment. What has no value is masked whole."""
    base, mark, query = url.partition("#")[0].partition("?")
    return base + mark + "&".join(map(_masked_pair, query.split("&")))


def masked_hop(url: str) -> str:
    """A URL that a target chose, to look at: nothing of its query, whose very names are the target's."""
    base, mark, _ = url.partition("#")[0].partition("?")
    return f"{base}?{MASK}" if mark else base


def masked_callback(url: str) -> str:
    """A callback URL to look at: its origin alone, since a path as often is the receiver's secret as a query."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    authority = authority.partition("?")[0].partition("#")[0]
    return f"{scheme}://{authority}/{MASK}" if path or not slash else url


def masked_answer(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The headers of a target's answer to keep: what a cookie or token says is masked, and so are queries of links."""
    return tuple((name, _masked_header(name.lower(), value)) for name, value in headers)


def _masked(name: str, value: Any) -> Any:
    if name in _PLAIN or value is None:
        return value
    if name == "headers" and isinstance(value, Mapping):
        return {header: text if header.lower() in _PLAIN_HEADERS else MASK for header, text in value.items()}
    if name == "query" and isinstance(value, Mapping):
        return dict.fromkeys(value, MASK)
    return MASK


def _masked_pair(pair: str) -> str:
    """One field of a query. What has no value may itself be a token, as padded base64 is."""
    name, _, value = pair.partition("=")
    if value.strip("="):
        return f"{name}={MASK}"
    return MASK if pair else ""


def _masked_header(name: str, value: str) -> str:
    if name in _LINK_HEADERS:
        return _QUERY.sub(f"?{MASK}", value)
    return MASK if _SECRET_NAME.search(name) else value
