"""Shapes that both surfaces answer with."""

from uuid import UUID

import msgspec


class Links(msgspec.Struct, frozen=True):
    """Where a job's parts are, as paths of this API."""

    self: str
    result: str
    attempts: str
    cancel: str


class Receipt(msgspec.Struct, frozen=True):
    """What intake answers: the job, never its data."""

    id: UUID
    status: str
    links: Links


def links_of(job_id: UUID) -> Links:
    base = f"/jobs/{job_id}"
    return Links(self=base, result=f"{base}/result", attempts=f"{base}/attempts", cancel=f"{base}/cancel")
