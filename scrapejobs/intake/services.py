"""What intake does: one verb each, then a hint to the loops. The hint comes after the commit and may be lost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal
from uuid import UUID

from scrapejobs.gateway.auth import Caller
from scrapejobs.gateway.context import Context
from scrapejobs.gateway.problems import Problem
from scrapejobs.intake.bulk import Offered
from scrapejobs.store import bulk, deliveries, jobs, opt_outs, tenants, transitions
from scrapejobs.store.bulk import Item, NoRoom, Taken
from scrapejobs.store.run import run
from scrapejobs.store.transitions import HostBarred, IdempotencyKey, KeyReused, NewJob, Submitted
from scrapejobs.telemetry import events

RETRY_AFTER_S: Final = 10


def submit(job: NewJob, *, key: IdempotencyKey | None, caller: Caller, context: Context) -> Submitted:
    """Takes a job in, durably (FR-1, FR-2). Raises `Problem` idempotency-key-reused, host-opted-out, queue-full,
    quota-exceeded.
    """
    room = _room(caller)
    if room.n == 0:
        submitted: Submitted | KeyReused | HostBarred = _replayed(job, key, else_=room.refusal)
    else:
        submitted = run(transitions.submit(job, key, is_counted=caller.daily is not None))
    if isinstance(submitted, HostBarred):
        raise Problem("host-opted-out")
    if isinstance(submitted, KeyReused):
        raise _reused()
    if not submitted.replayed:
        events.job_submitted(job.id, job.tenant_id, host=job.host, priority=job.priority)
        context.bus.wake("submitted")
    return submitted


@dataclass(frozen=True, slots=True)
class Many:
    """What became of each job of a bulk, in their order. `replayed`: the bulk was handed in before."""

    items: list[Submitted | Problem]
    replayed: bool


def submit_many(offered: Offered, *, name: str | None, caller: Caller, context: Context) -> Many:
    """Takes the jobs that are right in, durably, all or none; `name` is the whole's idempotency key (FR-2, FR-3).
    Raises `Problem` idempotency-key-reused when that stands for another bulk.
    """
    ttl_s = context.config.receipt_ttl_s
    right = list(_looked_at([item for item in offered.items if isinstance(item, Item)]))
    whole = IdempotencyKey(name, context.ring.marks(offered.digest), ttl_s) if name is not None else None
    room = _room(caller)
    done = run(
        bulk.submit_many(
            right,
            tenant_id=caller.tenant_id,
            ttl_s=ttl_s,
            whole=whole,
            room=room.n,
            is_counted=caller.daily is not None,
        )
    )
    if isinstance(done, KeyReused):
        raise _reused()
    taken = iter([_told(one, room) for one in done.items])
    answers = [next(taken) if isinstance(item, Item) else item for item in offered.items]
    _say(right, [one for one in answers if isinstance(one, Submitted) and not one.replayed], context)
    return Many(answers, done.replayed)


def _looked_at(items: Sequence[Item]) -> Iterator[Item]:
    """The items, those barred whose hosts are not fetched."""
    opted_out = run(opt_outs.opted_out({item.job.host for item in items})) if items else set()
    for item in items:
        yield replace(item, is_barred=True) if item.job.host in opted_out else item


def _told(one: Taken, room: "Room") -> Submitted | Problem:
    if isinstance(one, NoRoom):
        return Problem("host-opted-out") if one.is_barred else room.refusal
    return _reused() if isinstance(one, KeyReused) else one


def _say(right: Sequence[Item], new: Sequence[Submitted], context: Context) -> None:
    jobs = {item.job.id: item.job for item in right}
    for one in new:
        job = jobs[one.job_id]
        events.job_submitted(job.id, job.tenant_id, host=job.host, priority=job.priority)
    if new:
        context.bus.wake("submitted")


@dataclass(frozen=True, slots=True)
class Room:
    """For how many more jobs there is room (None: any number), and what is said to the next one."""

    n: int | None
    refusal: Problem


def _room(caller: Caller) -> Room:
    """What the tenant's caps leave. Requests under way at the same time are not counted, so a cap may be passed by as
    many as come at once.
    """
    room = Room(None, Problem("queue-full", headers={"Retry-After": str(RETRY_AFTER_S)}))
    if caller.max_queued is not None:
        waiting = run(jobs.n_waiting(caller.tenant_id, limit=caller.max_queued))
        room = replace(room, n=max(0, caller.max_queued - waiting))
    if caller.daily is not None:
        used, left_s = run(tenants.used_today(caller.tenant_id))
        left = max(0, caller.daily - used)
        if room.n is None or left < room.n:
            detail = f"{caller.daily} jobs a day, which is UTC's"
            room = Room(left, Problem("quota-exceeded", detail, headers={"Retry-After": str(left_s)}))
    return room


def _reused() -> Problem:
    return Problem("idempotency-key-reused", "the key was used for another path or body")


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
    context.bus.forget(job_id)
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
    context.bus.forget(job_id)
    context.bus.wake("submitted")


def redeliver(job_id: UUID, *, tenant_id: int, context: Context) -> None:
    """Sends the latest finish event of a job again (FR-9). Raises `Problem` not-found, no-delivery."""
    done = run(deliveries.redeliver(job_id, tenant_id=tenant_id))
    if done is None:
        raise Problem("not-found")
    if done == "no-delivery":
        raise Problem("no-delivery")
    context.bus.wake("delivery")
