"""What intake does: one verb each, then a hint to the loops. The hint comes after the commit and may be lost."""

from typing import Final, Literal
from uuid import UUID

from scrapejobs.gateway.auth import Caller
from scrapejobs.gateway.context import Context
from scrapejobs.gateway.problems import Problem
from scrapejobs.store import jobs, opt_outs, transitions
from scrapejobs.store.run import run
from scrapejobs.store.transitions import IdempotencyKey, KeyReused, NewJob, Submitted
from scrapejobs.telemetry import events

RETRY_AFTER_S: Final = 10


def submit(job: NewJob, *, key: IdempotencyKey | None, caller: Caller, context: Context) -> Submitted:
    """Takes a job in, durably (FR-1, FR-2). Raises `Problem` idempotency-key-reused, host-opted-out, queue-full."""
    if run(opt_outs.is_opted_out(job.host)):
        submitted = _replayed(job, key, else_=Problem("host-opted-out"))
    elif _is_full(caller):
        submitted = _replayed(job, key, else_=Problem("queue-full", headers={"Retry-After": str(RETRY_AFTER_S)}))
    else:
        submitted = run(transitions.submit(job, key))
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


def _replayed(job: NewJob, key: IdempotencyKey | None, *, else_: Problem) -> Submitted | KeyReused:
    """A repeat asks for nothing new: it has its answer, whatever is refused by now. Raises `else_`."""
    answered = run(transitions.replay(key, tenant_id=job.tenant_id)) if key is not None else None
    if answered is None:
        raise else_
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
