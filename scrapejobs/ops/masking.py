"""What people may see of a job without seeing its secrets (NFR-12)."""

from collections.abc import Mapping
from typing import Any, Final

MASK: Final = "***"

_PLAIN: Final = frozenset(
    {"method", "timeout_s", "max_bytes", "max_attempts", "deadline_s", "follow_redirects", "accept_statuses"}
    | {"retry_unsafe", "expect"}
)
_NAMES_ONLY: Final = frozenset({"headers", "query"})


def masked_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """A job's params to look at: names of headers and query fields without their values, no body.

    What is shown is listed; a param that this does not know is masked.
    """
    return {name: _masked(name, value) for name, value in params.items()}


def _masked(name: str, value: Any) -> Any:
    if name in _PLAIN or value is None:
        return value
    if name in _NAMES_ONLY and isinstance(value, Mapping):
        return dict.fromkeys(value, MASK)
    return MASK
