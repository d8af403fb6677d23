"""Endpoints of webhooks: a tenant's callback URLs up to their query. Kept only while they fail (FR-9, case S4)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from scrapejobs.store.run import Row, Statement, Steps, verb
from scrapejobs.store.sealing import Ring


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`marks` stand for the URL, which may be a secret: one under each sealing key, that of the sealing one first."""

    tenant_id: int
    origin: str
    marks: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class OffRule:
    """Switched off after `after` failures without a success between, when the first is `after_s` ago."""

    after: int
    after_s: float


def endpoint_of(url: str, *, tenant_id: int, origin: str, ring: Ring) -> Endpoint:
    """The endpoint of a callback URL. Its query may differ for each job; it stands for no endpoint of its own."""
    digest = hashlib.sha256(url.partition("#")[0].partition("?")[0].encode()).digest()
    return Endpoint(tenant_id, origin, tuple(ring.marks(digest)) or (digest,))


@verb()
def is_off(endpoint: Endpoint) -> Steps[bool]:
    """Whether it is switched off."""
    params = {"tenant_id": endpoint.tenant_id, "marks": list(endpoint.marks)}
    return bool((yield Statement("endpoint/off", params)))


@verb()
def failed(endpoint: Endpoint, *, is_gone: bool, rule: OffRule) -> Steps[str | None]:
    """Notes a failed try; why this switched the endpoint off, None when it did not."""
    params = {
        "tenant_id": endpoint.tenant_id,
        "mark": endpoint.marks[0],
        "origin": endpoint.origin,
        "is_gone": is_gone,
        "off_after": rule.after,
        "off_after_s": rule.after_s,
    }
    (row,) = yield Statement("endpoint/failed", params)
    return str(row["reason"]) if row["is_new"] else None


@verb()
def recovered(endpoint: Endpoint) -> Steps[bool]:
    """Forgets the failures of an endpoint that took an event; whether it was switched off."""
    params = {"tenant_id": endpoint.tenant_id, "marks": list(endpoint.marks)}
    rows: list[Row] = yield Statement("endpoint/recovered", params)
    return any(row["was_off"] for row in rows)


@verb()
def switch_on(ids: Sequence[int]) -> Steps[int]:
    """Switches endpoints on; how many of them there were."""
    return len((yield Statement("endpoint/switch_on", {"ids": list(ids)})))


@verb()
def forget(*, keep_s: float) -> Steps[int]:
    """Forgets endpoints of long ago."""
    return len((yield Statement("endpoint/forget", {"keep_s": keep_s})))
