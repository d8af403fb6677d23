"""The only code, beside `cancellation`, that changes a job's state. Each verb compares and sets; an answer of None,
False or an empty list means that somebody else was first, and callers must look at it (ADR-0003).

Locks are taken in one order: the job's row, then its place (ADR-0013). The claim alone starts at a place, and takes no
job's lock.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from scrapejobs.domain.retry import RetryPolicy
from scrapejobs.domain.target import names_over
from scrapejobs.store.ids import new_id
from scrapejobs.store.reports import Ended, rows_of
from scrapejobs.store.run import Row, Statement, Steps, verb

LOOKS: Final = ("delayed/remove", "queued/remove", "ready/remove")
"""Takes jobs out of their places, looking in the order in which jobs move on (ADR-0013)."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job as intake hands it in, already checked. `params` is the JSON object of api.md. URLs and params are masked
    as rows hold them; what that hides is in `sealed` and `callback_sealed` (`store.sealing`).
    """

    id: UUID
    tenant_id: int
    priority: int
    url: str
    host: str
    params: dict[str, Any]
    callback_url: str | None
    tags: dict[str, str]
    max_attempts: int
    deadline_s: float
    sealed: bytes | None = None
    callback_sealed: bytes | None = None


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A client's key, the marks of what it is used for (the first one is kept, any is known again), and how long it
    holds.
    """

    key: str
    marks: Sequence[bytes]
    ttl_s: float


@dataclass(frozen=True, slots=True)
class Submitted:
    job_id: UUID
    replayed: bool


@dataclass(frozen=True, slots=True)
class KeyReused:
    """The key stands for another request."""


@dataclass(frozen=True, slots=True)
class HostBarred:
    """The job's host is not fetched: its owner does not want it (`store.opt_outs`)."""


@verb()
def submit(
    job: NewJob, key: IdempotencyKey | None = None, *, is_counted: bool = False
) -> Steps[Submitted | KeyReused | HostBarred]:
    """Takes a job in: one row, unpublished, and its receipt (FR-1, FR-2). Durable when it returns. `is_counted`: as one
    of its tenant's jobs of today (FR-12). A repeat has its answer, also when its host is barred by now.
    """
    params = {
        "id": job.id,
        "tenant_id": job.tenant_id,
        "priority": job.priority,
        "url": job.url,
        "host": job.host,
        "params": msgspec.json.encode(job.params).decode(),
        "sealed": job.sealed,
        "callback_url": job.callback_url,
        "callback_sealed": job.callback_sealed,
        "tags": msgspec.json.encode(job.tags).decode(),
        "max_attempts": job.max_attempts,
        "deadline_s": job.deadline_s,
        "key": key.key if key else None,
        "fingerprint": key.marks[0] if key else None,
        "receipt_ttl_s": key.ttl_s if key else None,
        "is_counted": is_counted,
        "host_names": list(names_over(job.host)),
    }
    if (yield Statement("job/submit", params)):
        return Submitted(job.id, replayed=False)
    receipts = (yield _receipt_of(key, job.tenant_id)) if key is not None else []
    return _repeated(receipts[0], key) if receipts and key is not None else HostBarred()


@verb()
def replay(key: IdempotencyKey, *, tenant_id: int) -> Steps[Submitted | KeyReused | None]:
    """What a key was answered with before; None when it was not used (FR-2)."""
    receipts = yield _receipt_of(key, tenant_id)
    return _repeated(receipts[0], key) if receipts else None


def _receipt_of(key: IdempotencyKey, tenant_id: int) -> Statement:
    return Statement("receipt/find", {"tenant_id": tenant_id, "key": key.key})


def _repeated(receipt: Row, key: IdempotencyKey) -> Submitted | KeyReused:
    if bytes(receipt["fingerprint"]) not in key.marks:
        return KeyReused()
    return Submitted(receipt["job_id"], replayed=True)


def fingerprint(path: str, body: Any) -> bytes:
    """SHA-256 of what a key is used for: the path and the parsed body, whatever its spacing and order of keys. It is
    not kept as it is, since who has it could try guesses at the secrets in the body (`Ring.marks`).
    """
    return hashlib.sha256(path.encode() + b"\0" + msgspec.json.encode(body, order="deterministic")).digest()


@verb()
def publish(*, limit: int) -> Steps[int]:
    """Moves up to `limit` unpublished jobs into their queues; how many."""
    return len((yield Statement("job/publish", {"limit": limit})))


@verb()
def promote(*, limit: int, now: datetime | None = None) -> Steps[int]:
    """Puts retries whose time has come back into their queues; how many."""
    return len((yield Statement("delayed/promote", {"limit": limit, "now": now})))


@verb()
def claim(*, worker_id: UUID, worker: str, limit: int, lease_s: float) -> Steps[list[Row]]:
    """Takes up to `limit` ready jobs under leases; the rows of `ready/claim.sql`."""
    params = {"worker_id": worker_id, "worker": worker, "limit": limit, "lease_s": lease_s}
    return (yield Statement("ready/claim", params))


@verb()
def renew(seqs: Sequence[int], *, lease_s: float) -> Steps[set[int]]:
    """Renews leases; the fences that were renewed. One that is missing may also just be locked: see `standing`."""
    rows = yield Statement("lease/renew", {"seqs": list(seqs), "lease_s": lease_s})
    return {row["seq"] for row in rows}


@verb()
def standing(seqs: Sequence[int]) -> Steps[dict[int, bool]]:
    """Which leases stand: fence to "its job is already final", which for a running job means cancelled."""
    rows = yield Statement("lease/standing", {"seqs": list(seqs)})
    return {row["seq"]: row["is_final"] for row in rows}


@verb()
def report(
    attempts: Sequence[Ended], *, policy: RetryPolicy, random: Callable[[], float], now: datetime | None = None
) -> Steps[dict[int, Row]]:
    """Ends attempts as the planner decides. Rows by fence, with `applied` False where the job was final already; a
    fence that is absent had lost its lease, and changed nothing (NFR-4). `is_busy`: nothing is changed either, for
    somebody holds the job's row; to be told again.
    """
    if not attempts:
        return {}
    reports = rows_of(attempts, policy=policy, random=random)
    job_ids = sorted({attempt.job_id for attempt in attempts})
    bounds = {"first_id": job_ids[0], "last_id": job_ids[-1]}
    rows = yield Statement("lease/report", {"reports": reports, "job_ids": job_ids, "now": now} | bounds)
    return {row["seq"]: row for row in rows}


@verb()
def hold_back(hosts: Sequence[str]) -> Steps[int]:
    """Puts ready jobs of hosts that are paused now back into their queues, if no worker was first; how many."""
    return len((yield Statement("ready/hold_back", {"hosts": list(hosts)})))


@dataclass(frozen=True, slots=True)
class Cancellation:
    """`cancelled`: done now or before; `running_on`: the worker to be told; `final`: the state that forbids it."""

    cancelled: bool
    running_on: UUID | None = None
    final: str | None = None


@verb(atomic=True)
def cancel(job_id: UUID, *, tenant_id: int | None) -> Steps[Cancellation | None]:
    """Cancels an unfinished job, wherever it is; None when the tenant has no such job (FR-5)."""
    rows = yield Statement("job/lock", {"id": job_id, "tenant_id": tenant_id})
    if not rows:
        return None
    final = rows[0]["final_state"]
    if final is not None:
        return Cancellation(cancelled=final == "cancelled", final=final)
    runner = yield from _leave_place(job_id, published=rows[0]["published_at"] is not None)
    yield Statement("job/cancel", {"ids": [job_id]})
    return Cancellation(cancelled=True, running_on=runner)


@verb(atomic=True)
def expire(job_id: UUID) -> Steps[bool]:
    """Fails a job whose deadline passed before it could start; False when it runs or is no longer overdue."""
    rows = yield Statement("job/lock", {"id": job_id, "tenant_id": None})
    if not rows or rows[0]["final_state"] is not None or not rows[0]["overdue"]:
        return False
    if (yield Statement("lease/find", {"ids": [job_id]})):
        return False
    runner = yield from _leave_place(job_id, published=rows[0]["published_at"] is not None)
    if runner is not None:
        return False
    return bool((yield Statement("job/expire", {"id": job_id, "detail": "the deadline passed before it could start"})))


def _leave_place(job_id: UUID, *, published: bool) -> Steps[UUID | None]:
    """Takes a locked, unfinished job out of its place; who runs it, if it runs.

    Each look is a snapshot of its own. Only moves forward go on without the job's lock (ADR-0013), and the looks are in
    their order: a job that is not met in one place is met in a later one.
    """
    if not published:
        return None
    for place in LOOKS:
        if (yield Statement(place, {"ids": [job_id]})):
            return None
    lease = yield Statement("lease/find", {"ids": [job_id]})
    return lease[0]["worker_id"] if lease else None


@verb(atomic=True)
def requeue(job_id: UUID, *, tenant_id: int | None) -> Steps[Literal["requeued", "not-failed", "erased"] | None]:
    """Sends a dead letter back with a fresh set of attempts; None when the tenant has no such job (FR-10). Erased: its
    secrets are, so that what it asked for cannot be sent again.
    """
    rows = yield Statement("job/lock", {"id": job_id, "tenant_id": tenant_id})
    if not rows:
        return None
    if rows[0]["final_state"] != "failed":
        return "not-failed"
    return "requeued" if (yield from _send_back([job_id])) else "erased"


@verb(atomic=True)
def requeue_all(job_ids: Sequence[UUID]) -> Steps[list[UUID]]:
    """Sends dead letters back as `requeue` does; those that were still failed, with their secrets (FR-10)."""
    locked = [row["id"] for row in (yield Statement("job/lock_failed", {"ids": list(job_ids)}))]
    return (yield from _send_back(locked))


@verb(atomic=True)
def discard_all(job_ids: Sequence[UUID]) -> Steps[list[UUID]]:
    """Puts dead letters aside; those that still were any (FR-10)."""
    locked = [row["id"] for row in (yield Statement("job/lock_failed", {"ids": list(job_ids)}))]
    return [row["id"] for row in (yield Statement("job/discard", {"ids": locked}))]


def _send_back(failed: list[UUID]) -> Steps[list[UUID]]:
    """Sends locked, failed jobs back. An end of which the finisher has not told yet is told first, or nobody would ever
    hear of it (P6).
    """
    yield Statement("job/finish", {"event_ids": [new_id() for _ in failed], "job_ids": failed})
    return [row["id"] for row in (yield Statement("job/requeue", {"ids": failed}))]
