"""What reads answer with."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from scrapejobs.gateway.shapes import Links

StatusName = Literal["queued", "running", "succeeded", "failed", "cancelled"]
PriorityName = Literal["high", "normal", "low"]
Reason = Literal["publishing", "retry_backoff", "host_paused", "circuit_open", "host_limit", "tenant_turn", "no_worker"]
Moment = Annotated[datetime, Meta(tz=True)]


class ListQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of GET /jobs."""

    status: StatusName | UnsetType = UNSET
    host: Annotated[str, Meta(min_length=1, max_length=253)] | UnsetType = UNSET
    priority: PriorityName | UnsetType = UNSET
    tag: Annotated[dict[str, str], Meta(max_length=16)] = {}
    created_after: Moment | UnsetType = UNSET
    created_before: Moment | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    cursor: str | UnsetType = UNSET


class EventQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of GET /events."""

    after: str | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    wait: Annotated[int, Meta(ge=0, le=30)] = 0


class EventLinks(msgspec.Struct, frozen=True):
    """Where the parts of the job are."""

    self: str
    result: str
    attempts: str


class FinishEvent(msgspec.Struct, frozen=True):
    """That a job has ended. `event_id` is the `webhook-id`; the other fields are the body of the webhook."""

    event_id: UUID
    id: UUID
    status: Literal["succeeded", "failed", "cancelled"]
    finished_at: datetime
    links: EventLinks


class EventPage(msgspec.Struct, frozen=True):
    """In an order that stays. `next_cursor` is always there: it is the `after` of the next request."""

    items: list[FinishEvent]
    next_cursor: str


class LastError(msgspec.Struct, frozen=True):
    """How the latest failed attempt ended. `class`: whether another try could end otherwise."""

    class_: str = msgspec.field(name="class")
    code: str
    detail: str | None
    at: datetime


class WaitingFor(msgspec.Struct, frozen=True):
    """What keeps a queued job from starting, and until when if that is known."""

    reason: Reason
    until: datetime | None
    detail: str


class ResultSummary(msgspec.Struct, frozen=True):
    """What is stored of the target's answer; `complete` is `unknown` when the target did not say its length."""

    size: int
    content_type: str | None
    sha256: str
    complete: Literal["yes", "unknown"] | None
    expires_at: datetime


class Job(msgspec.Struct, frozen=True):
    """A job. `attempts` are those charged, and the one under way."""

    id: UUID
    url: str
    params: dict[str, Any]
    status: StatusName
    priority: PriorityName
    tags: dict[str, str]
    attempts: int
    max_attempts: int
    last_error: LastError | None
    waiting_for: WaitingFor | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    next_attempt_at: datetime | None
    result: ResultSummary | None
    links: Links


class JobPage(msgspec.Struct, frozen=True):
    """Newest first; `next_cursor` is null on the last page."""

    items: list[Job]
    next_cursor: str | None


class Redirect(msgspec.Struct, frozen=True):
    """One redirect that was answered, its query masked."""

    url: str
    status: int


class Attempt(msgspec.Struct, frozen=True):
    """One try. The one under way has no `finished_at` and no `outcome`. `timings`: the seconds spent in each phase."""

    number: int
    worker: str
    started_at: datetime
    finished_at: datetime | None
    outcome: str | None
    code: str | None
    detail: str | None
    charged: bool | None
    target_status: int | None
    phase: str | None
    bytes: int
    address_family: str | None
    redirects: list[Redirect]
    wire_requests: int
    timings: dict[str, float]


class AttemptList(msgspec.Struct, frozen=True):
    """In the order in which they began."""

    items: list[Attempt]


class DeliveryTry(msgspec.Struct, frozen=True):
    """One try of a delivery. Without a `duration_s` it is under way, or its sender was stopped in the midst of it."""

    number: int
    at: datetime
    duration_s: float | None
    status: int | None
    error: str | None
    next_try_at: datetime | None


class FailingEndpoint(msgspec.Struct, frozen=True):
    """The receiver, while it takes no events; `off_at` when it gets none any more, and `reason` why."""

    origin: str
    failing_since: datetime
    off_at: datetime | None
    reason: Literal["gone", "failing"] | None


class Delivery(msgspec.Struct, frozen=True):
    """One finish event on its way. `id` is the `webhook-id` of every try; `status` what the event says of the job."""

    id: UUID
    status: StatusName
    url: str
    state: Literal["pending", "delivered", "given_up"]
    created_at: datetime
    next_try_at: datetime | None
    redelivered_at: datetime | None
    endpoint: FailingEndpoint | None
    tries: list[DeliveryTry]


class DeliveryList(msgspec.Struct, frozen=True):
    """One for each end that the job came to, oldest first."""

    items: list[Delivery]


class ResultLink(msgspec.Struct, frozen=True):
    """A signed link to the object store: GET only, as an attachment, until `expires_at`."""

    url: str
    expires_at: datetime
    size: int
    content_type: str | None
    sha256: str
