"""What of a job's params may be shown: which secrets it carries is not for histories (NFR-12)."""

import re
from typing import Any, Final

MASK: Final = "***"

_SECRET_HEADER: Final = re.compile(
    r"(?i).*(?:auth|cookie|token|secret|password|passwd|credential|session|signature|api-?_?key|-key$|^key$).*"
)


def shown_params(params: dict[str, Any]) -> dict[str, Any]:
    """The params with secret-like headers, all query values and the content masked."""
    shown = dict(params)
    shown["headers"] = {
        name: MASK if _SECRET_HEADER.fullmatch(name) else value for name, value in params.get("headers", {}).items()
    }
    shown["query"] = dict.fromkeys(params.get("query", {}), MASK)
    for content in ("body", "json"):
        if shown.get(content) is not None:
            shown[content] = MASK
    return shown
