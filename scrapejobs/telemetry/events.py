"""What happens, told once: each event writes its log line and its metric. Apps narrate through here and nowhere else.

The names and fields are an interface: dashboards and people search for them. Levels: an idle system is silent and a
busy one writes one line a settled job; `debug` shows each step of each job.

debug: steps of single jobs, counts of routine work · info: jobs settled, roles and partitions changing
warning: something was lost and made good · error: somebody should look
"""

from datetime import date
from typing import Any, Final, Literal
from uuid import UUID

import structlog

from scrapejobs.domain.job import PRIORITIES
from scrapejobs.telemetry import metrics
from scrapejobs.telemetry.log import step

_log: Final[Any] = structlog.get_logger()


def job_submitted(job_id: UUID, tenant_id: int, *, host: str, priority: int) -> None:
    """A job was taken in (FR-1). Not for a repeat that was answered from a receipt."""
    queue = PRIORITIES[priority]
    metrics.JOBS_SUBMITTED.labels(queue=queue).inc()
    step("job_submitted", job_id=job_id, tenant_id=tenant_id, host=host, queue=queue)


def jobs_published(n: int) -> None:
    """`n` jobs went from the outbox into their queues."""
    step("jobs_published", n=n)


def dispatched(n: int) -> None:
    """`n` jobs were picked and made ready."""
    step("dispatched", n=n)


def dispatcher_elected(epoch: int, *, rebuild_s: float, queued: int) -> None:
    """This scheduler dispatches from here on; `queued` entries were read in `rebuild_s` seconds."""
    _log.info("dispatcher_elected", epoch=epoch, rebuild_s=rebuild_s, queued=queued)


def dispatcher_lost(epoch: int) -> None:
    """This scheduler's dispatch lease is over though it did not hand it over."""
    _log.warning("dispatcher_lost", epoch=epoch)


def circuit_changed(host: str, change: str, *, code: str | None) -> None:
    """A host's circuit `opened`, after a failure of that code, or `closed` after good trials."""
    metrics.CIRCUIT_CHANGES.labels(change).inc()
    _log.warning("circuit_changed", host=host, change=change, code=code)


def permits_given(n: int) -> None:
    """`n` redirected attempts may send a request to their next host."""
    step("permits_given", n=n)


def ready_taken_back(n: int) -> None:
    """`n` ready jobs were not claimed in time and went back to their queues."""
    _log.info("ready_taken_back", n=n)


def attempt_started(job_id: UUID, seq: int, *, number: int, host: str) -> None:
    """A worker started an attempt; `seq` is its fence, `number` counts the job's attempts from 1."""
    step("attempt_started", job_id=job_id, seq=seq, number=number, host=host)


def attempt_ended(
    job_id: UUID,
    seq: int,
    *,
    outcome: str,
    code: str | None = None,
    elapsed_s: float = 0.0,
    bytes: int = 0,  # noqa: A002 - the column's name
) -> None:
    """An attempt ended and its report was applied. `outcome` as in the attempt's row (stored, temporary, permanent,
    released, lost, cancelled), `code` the failure's, `bytes` what the target sent.
    """
    metrics.ATTEMPTS.labels(outcome, metrics.code_label(code)).inc()
    step("attempt_ended", job_id=job_id, seq=seq, outcome=outcome, code=code, elapsed_s=elapsed_s, bytes=bytes)


def secrets_unreadable(job_id: UUID, *, code: str) -> None:
    """A job's secrets, or its callback URL, could not be opened: this process lacks their key (`secrets_locked`), or
    they are not what was sealed (`secrets_damaged`).
    """
    metrics.SECRETS_UNREADABLE.labels(code).inc()
    _log.error("secrets_unreadable", job_id=job_id, code=code)


def report_fenced(job_id: UUID, seq: int) -> None:
    """A report came too late: the attempt's lease was gone, and nothing was changed (NFR-4)."""
    _log.warning("report_fenced", job_id=job_id, seq=seq)


def job_settled(job_id: UUID, state: str, code: str | None = None) -> None:
    """A job reached a final state: succeeded, failed (with the code of why) or cancelled."""
    metrics.JOBS_SETTLED.labels(state=state).inc()
    _log.info("job_settled", job_id=job_id, state=state, code=code)


def first_attempt(seconds: float) -> None:
    """A job's first attempt started so long after its creation, by the database's clock (NFR-8). Metric only."""
    metrics.FIRST_ATTEMPT.observe(seconds)


def leases_swept(n: int) -> None:
    """`n` leases had run out; their jobs went back or were settled (NFR-7)."""
    _log.warning("leases_swept", n=n)


def retries_promoted(n: int) -> None:
    """`n` retries came due and went back into their queues."""
    step("retries_promoted", n=n)


def jobs_expired(n: int) -> None:
    """`n` jobs failed because their deadline passed before they could start."""
    _log.info("jobs_expired", n=n)


def finish_published(n: int) -> None:
    """`n` finish events were written, with a delivery for each callback."""
    step("finish_published", n=n)


def delivery_tried(
    job_id: UUID,
    event_id: UUID,
    *,
    outcome: Literal["delivered", "retry", "given_up"],
    status: int | None = None,
    error: str | None = None,
) -> None:
    """A webhook was called (FR-9); `status` is the receiver's answer, None without one: `error` says why."""
    metrics.DELIVERIES.labels(outcome=outcome).inc()
    write = _log.warning if outcome == "given_up" else step
    write("delivery_tried", job_id=job_id, event_id=event_id, outcome=outcome, status=status, error=error)


def job_read(source: Literal["cache", "fill", "database"], *, age_s: float | None = None) -> None:
    """A single job was read: from the cache, where it was `age_s` old; from Postgres to fill it; or past it, because
    Valkey is away or somebody was filling. Metric only.
    """
    metrics.JOB_READS.labels(source).inc()
    if age_s is not None:
        metrics.JOB_READ_AGE.observe(age_s)


def stale_answers(n: int) -> None:
    """The cache still had `n` answers from before their jobs' ends, when these were told. Metric only."""
    metrics.STALE_ANSWERS.inc(n)


def endpoint_switched_off(tenant_id: int, *, origin: str, reason: str) -> None:
    """A tenant's endpoint gets no more events: it said 410 (`gone`), or took none for long (`failing`)."""
    metrics.ENDPOINT_CHANGES.labels("off").inc()
    _log.warning("endpoint_switched_off", tenant_id=tenant_id, origin=origin, reason=reason)


def endpoint_switched_on(tenant_id: int, *, origin: str) -> None:
    """An endpoint that was switched off took an event that was sent again by hand: it gets events again."""
    metrics.ENDPOINT_CHANGES.labels("on").inc()
    _log.info("endpoint_switched_on", tenant_id=tenant_id, origin=origin)


def lease_lost(seq: int) -> None:
    """A worker found that a lease it held no longer stands; it stops that attempt."""
    _log.warning("lease_lost", seq=seq)


def worker_draining(running: int) -> None:
    """A worker takes no more jobs; `running` are to be ended or handed back."""
    _log.info("worker_draining", running=running)


def cancel_obeyed(job_id: UUID) -> None:
    """A worker stopped the attempt of a cancelled job (FR-5)."""
    step("cancel_obeyed", job_id=job_id)


def loop_failed(loop: str, error: BaseException) -> None:
    """A pass of a loop raised an error; the loop goes on after a pause."""
    metrics.LOOP_ERRORS.labels(loop=loop).inc()
    _log.error("loop_failed", loop=loop, error=error)


def tick(loop: str, seconds: float) -> None:
    """A pass of a loop took so long. Metric only."""
    metrics.TICK.labels(loop=loop).observe(seconds)


def partition_created(n: int) -> None:
    """`n` day partitions were made ahead."""
    _log.info("partition_created", n=n)


def partition_dropped(day: date) -> None:
    """A day past retention was removed, rows and objects (NFR-9)."""
    _log.info("partition_dropped", day=day)


def store_unavailable(key: str, reason: str) -> None:
    """A fetched answer could not be stored; its worker holds the bytes and tries again while its lease holds."""
    metrics.STORE_FAILURES.inc()
    _log.warning("store_unavailable", key=key, reason=reason)


def result_missing(job_id: UUID) -> None:
    """A succeeded job's object is not in the object store (NFR-3 is broken)."""
    metrics.RESULT_MISSING.inc()
    _log.error("result_missing", job_id=job_id)


def orphans_removed(n: int, *, bytes: int) -> None:  # noqa: A002 - as of an attempt
    """`n` objects that no job names and no attempt can name any more were removed; their sizes together."""
    metrics.ORPHANS_REMOVED.inc(n)
    _log.info("orphans_removed", n=n, bytes=bytes)


def objects_unknown(n: int) -> None:
    """`n` objects in the bucket are of jobs that the database does not know though it has their day: it was restored
    from a backup, or somebody else uses the bucket. They are left alone.
    """
    _log.warning("objects_unknown", n=n)


def bus_down() -> None:
    """Valkey cannot be reached: loops poll instead of being woken."""
    _log.warning("bus_down")


def bus_up() -> None:
    """Valkey is reached again."""
    _log.info("bus_up")
