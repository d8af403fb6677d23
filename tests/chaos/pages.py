"""What the target's paths do, `/<kind>/<anything>`, and so how a job for one may end."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PAGE_BYTES = 10_240
BIG_BYTES = 3 * 1024 * 1024  # more than a worker keeps in memory


@dataclass(frozen=True, slots=True)
class Kind:
    """`final` is how a job for it ends when nobody interferes; `code` the failure code of one that fails; `n_charged`
    the attempts that its answers cost.
    """

    final: str = "succeeded"
    code: str | None = None
    n_charged: int = 1


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "page": Kind(),  # at once
        "slow": Kind(),  # in five parts over half a second
        "busy": Kind(n_charged=3),  # 503 to the first two requests
        "later": Kind(n_charged=2),  # 429 with Retry-After: 1 to the first request
        "cut": Kind(n_charged=2),  # the connection ends in mid-body at the first request
        "nul": Kind(),  # a body half of NUL bytes
        "big": Kind(),  # so large that it is received on disk
        "hang": Kind(),  # nothing until the gate is opened
        "gone": Kind("failed", "http_404"),
        "down": Kind("failed", "http_503", n_charged=5),  # 503 to every request
    }
)


def kind_of(path: str) -> str:
    return path.split("/")[1]


def body_of(path: str) -> bytes:
    """The bytes that only this path has."""
    digest = hashlib.sha256(path.encode()).digest()
    if kind_of(path) == "nul":
        return (digest + b"\0" * 32) * (PAGE_BYTES // 64)
    return digest * ((BIG_BYTES if kind_of(path) == "big" else PAGE_BYTES) // 32)
