"""What may be seen of a job without seeing its secrets (NFR-12): in the API, in histories and in admin alike.

What is shown is listed; whatever this does not know is masked.
"""

from collections.abc import Mapping
from typing import Any, Final

MASK: Final = "***"

_PLAIN: Final = frozenset(
    {"method", "timeout_s", "max_bytes", "max_attempts", "deadline_s", "follow_redirects", "accept_statuses"}
    | {"retry_unsafe", "expect"}
)
_PLAIN_HEADERS: Final = frozenset(
    {"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-type", "dnt", "from"}
    | {"if-modified-since", "if-none-match", "origin", "pragma", "range", "user-agent", "x-requested-with"}
)


def masked_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """A job's params to look at: harmless headers whole, of the others and of query fields the names alone, no body."""
    return {name: _masked(name, value) for name, value in params.items()}


def _masked(name: str, value: Any) -> Any:
    if name in _PLAIN or value is None:
        return value
    if name == "headers" and isinstance(value, Mapping):
        return {header: text if header.lower() in _PLAIN_HEADERS else MASK for header, text in value.items()}
    if name == "query" and isinstance(value, Mapping):
        return dict.fromkeys(value, MASK)
    return MASK
