"""Shapes that both surfaces answer with."""

from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from scrapejobs.gateway.problems import Mistake


class Links(msgspec.Struct, frozen=True):
    """Where a job's parts are, as paths of this API."""

    self: str
    result: str
    attempts: str
    cancel: str
    deliveries: str


class Redelivery(msgspec.Struct, frozen=True):
    """What a redelivery answers: the job, whose `deliveries` are the log of its tries."""

    id: UUID
    links: Links


class Receipt(msgspec.Struct, frozen=True):
    """What intake answers: the job, never its data."""

    id: UUID
    status: str
    links: Links


class BulkItemAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one job of a bulk: a receipt (`id`, `status`, `links`; `replayed` when it was given before), or a
    problem (`type`, `title`, `status` and what else problems have).
    """

    status: str | int
    id: UUID | UnsetType = UNSET
    links: Links | UnsetType = UNSET
    replayed: bool = False
    type: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    errors: list[Mistake] | UnsetType = UNSET


class BulkAnswer(msgspec.Struct, frozen=True):
    """What became of each job of a bulk, in their order."""

    items: list[BulkItemAnswer]


def links_of(job_id: UUID) -> Links:
    base = f"/jobs/{job_id}"
    return Links(
        self=base,
        result=f"{base}/result",
        attempts=f"{base}/attempts",
        cancel=f"{base}/cancel",
        deliveries=f"{base}/deliveries",
    )
