"""Which headers a job may send to its target (NFR-11): none that frames the message or opens a cloud's metadata."""

import re
from collections.abc import Mapping
from typing import Final

from scrapejobs.gateway.problems import Mistake, Problem, invalid

FORBIDDEN: Final = frozenset(
    {
        # RFC 9110 and 9112: the connection's and the framing's, which are the worker's
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        # what a cloud's metadata service takes as proof that the request is meant
        "metadata",
        "metadata-flavor",
        "x-google-metadata-request",
        "x-metadata-token",
    }
)
FORBIDDEN_PREFIXES: Final = ("proxy-", "x-aws-ec2-metadata-", "x-aliyun-ecs-metadata-")

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2: a token
_VALUE: Final = re.compile(r"[\t -~]*")  # RFC 9110, 5.5, without obs-text: one meaning in every encoding


def check_headers(headers: Mapping[str, str]) -> None:
    """Raises `Problem`: `header-not-allowed`, or `invalid-request` for one name in two spellings."""
    seen: set[str] = set()
    for name, value in headers.items():
        lower = name.lower()
        if not _NAME.fullmatch(name):
            raise _refused("a header name is a token of RFC 9110")
        if lower in FORBIDDEN or lower.startswith(FORBIDDEN_PREFIXES):
            raise _refused(f"`{lower}` may not be sent", name)
        if not _VALUE.fullmatch(value):
            raise _refused(f"the value of `{lower}` holds a character that a header may not hold", name)
        if lower in seen:
            raise invalid("/params/headers", "repeated", f"`{lower}` is given twice")
        seen.add(lower)


def _refused(detail: str, name: str = "") -> Problem:
    pointer = f"/params/headers/{name}" if name else "/params/headers"
    return Problem("header-not-allowed", detail, [Mistake(pointer.replace("~", "~0"), "value", detail)])
