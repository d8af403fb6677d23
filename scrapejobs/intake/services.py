"""What intake does: one verb each, then a hint to the loops. The hint comes after the commit and may be lost."""

from typing import Final, Literal
from uuid import UUID

from scrapejobs.gateway.auth import Caller
from scrapejobs.gateway.context import Context
from scrapejobs.gateway.problems import Problem
from scrapejobs.store import jobs, transitions
from scrapejobs.store.run import run
from scrapejobs.store.transitions import IdempotencyKey, KeyReused, NewJob, Submitted
from scrapejobs.telemetry import events

RETRY_AFTER_S: Final = 10


def submit(job: NewJob, *, key: IdempotencyKey | None, caller: Caller, context: Context) -> Submitted:
    """Takes a job in, durably (FR-1, FR-2). Raises `Problem` idempotency-key-reused, queue-full."""
    submitted = _replayed(job, key) if _is_full(caller) else run(transitions.submit(job, key))
    if isinstance(submitted, KeyReused):
        raise Problem("idempotency-key-reused", "the key was used for another path or body")
    if not submitted.replayed:
        events.job_submitted(job.id, job.tenant_id, host=job.host, priority=job.priority)
        context.bus.wake("submitted")
    return submitted


def _is_full(caller: Caller) -> bool:
    """Whether as many of the tenant's jobs wait as may. Requests under way at the same time are not counted, so a cap
    may be passed by as many as come at once.
    """
    most = caller.max_queued
    return most is not None and run(jobs.n_waiting(caller.tenant_id, limit=most)) >= most


def _replayed(job: NewJob, key: IdempotencyKey | None) -> Submitted | KeyReused:
    """A repeat takes no place in the queue: it has its answer, whatever waits. Raises `Problem` queue-full."""
    answered = run(transitions.replay(key, tenant_id=job.tenant_id)) if key is not None else None
    if answered is None:
        raise Problem("queue-full", headers={"Retry-After": str(RETRY_AFTER_S)})
    return answered


def cancel(job_id: UUID, *, tenant_id: int, context: Context) -> None:
    """Cancels an unfinished job; a cancelled one stays so (FR-5). Raises `Problem` not-found, already-final."""
    done = run(transitions.cancel(job_id, tenant_id=tenant_id))
    if done is None:
        raise Problem("not-found")
    if not done.cancelled:
        raise Problem("already-final", f"the job has {done.final}", members={"job_status": done.final})
    if done.running_on:
        context.bus.cancelled(job_id)
    context.bus.wake("finished")


def requeue(job_id: UUID, *, tenant_id: int, context: Context) -> None:
    """Sends a failed job back with a fresh set of attempts (FR-10). Raises `Problem` not-found, not-failed,
    secrets-erased.
    """
    done: Literal["requeued", "not-failed", "erased"] | None = run(transitions.requeue(job_id, tenant_id=tenant_id))
    if done is None:
        raise Problem("not-found")
    if done == "not-failed":
        raise Problem("not-failed")
    if done == "erased":
        raise Problem("secrets-erased")
    context.bus.wake("submitted")
