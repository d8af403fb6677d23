"""What the API answers, as values. A field that this version does not know is left out; `raw` of a job has all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Self

from scrapejobs_client.errors import Problem

Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]
Priority = Literal["high", "normal", "low"]
Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What intake answered. `is_replayed`: the job was there already, handed in before with the same key and body."""

    id: str
    status: Status
    links: Mapping[str, str]
    is_replayed: bool = False

    @classmethod
    def of(cls, raw: Raw, *, is_replayed: bool = False) -> Self:
        return cls(raw["id"], raw["status"], raw.get("links", {}), is_replayed)


@dataclass(frozen=True, slots=True)
class LastError:
    """How the latest failed attempt ended. `kind` is its class: `temporary` was tried again, `permanent` was not."""

    kind: str
    code: str
    detail: str | None
    at: datetime

    def __str__(self) -> str:
        return f"{self.kind} {self.code}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """What keeps a queued job from starting, and until when if that is known."""

    reason: str
    until: datetime | None
    detail: str


@dataclass(frozen=True, slots=True)
class ResultSummary:
    """What is stored. `complete` is `unknown` when the target did not say how long its answer is."""

    size: int
    content_type: str | None
    sha256: str
    complete: Literal["yes", "unknown"] | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it was when asked for."""

    id: str
    url: str
    status: Status
    priority: Priority
    tags: Mapping[str, str]
    attempts: int
    max_attempts: int
    last_error: LastError | None
    waiting_for: WaitingFor | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    next_attempt_at: datetime | None
    result: ResultSummary | None
    raw: Raw = field(repr=False, compare=False)

    @property
    def is_final(self) -> bool:
        return self.status in {"succeeded", "failed", "cancelled"}

    @property
    def has_succeeded(self) -> bool:
        return self.status == "succeeded"

    @classmethod
    def of(cls, raw: Raw) -> Self:
        error, waiting, result = raw.get("last_error"), raw.get("waiting_for"), raw.get("result")
        return cls(
            id=raw["id"],
            url=raw["url"],
            status=raw["status"],
            priority=raw["priority"],
            tags=raw["tags"],
            attempts=raw["attempts"],
            max_attempts=raw["max_attempts"],
            last_error=LastError(error["class"], error["code"], error["detail"], _moment(error["at"]))
            if error
            else None,
            waiting_for=WaitingFor(waiting["reason"], _when(waiting["until"]), waiting["detail"]) if waiting else None,
            created_at=_moment(raw["created_at"]),
            started_at=_when(raw["started_at"]),
            finished_at=_when(raw["finished_at"]),
            next_attempt_at=_when(raw["next_attempt_at"]),
            result=_summary(result) if result else None,
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try. The one under way has no `finished_at` and no `outcome`."""

    number: int
    worker: str
    started_at: datetime
    finished_at: datetime | None
    outcome: str | None
    code: str | None
    detail: str | None
    is_charged: bool | None
    target_status: int | None
    n_bytes: int
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Self:
        return cls(
            number=raw["number"],
            worker=raw["worker"],
            started_at=_moment(raw["started_at"]),
            finished_at=_when(raw["finished_at"]),
            outcome=raw["outcome"],
            code=raw["code"],
            detail=raw["detail"],
            is_charged=raw["charged"],
            target_status=raw["target_status"],
            n_bytes=raw["bytes"],
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class ResultLink:
    """A signed link to the stored bytes: GET only, without a key, until `expires_at`. Anyone who has it may use it."""

    url: str = field(repr=False)
    expires_at: datetime
    size: int
    content_type: str | None
    sha256: str

    @classmethod
    def of(cls, raw: Raw) -> Self:
        return cls(raw["url"], _moment(raw["expires_at"]), raw["size"], raw["content_type"], raw["sha256"])


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that has ended, and the link to its result if it succeeded."""

    job: Job
    link: ResultLink | None


@dataclass(frozen=True, slots=True)
class Submission:
    """What became of item `index` (from 0) of a bulk: `receipt` or `problem`, one of the two."""

    index: int
    receipt: Receipt | None
    problem: Problem | None

    @property
    def is_accepted(self) -> bool:
        return self.receipt is not None


def _summary(raw: Raw) -> ResultSummary:
    return ResultSummary(raw["size"], raw["content_type"], raw["sha256"], raw["complete"], _moment(raw["expires_at"]))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _when(text: str | None) -> datetime | None:
    return None if text is None else _moment(text)
