"""A job as an operator may see it: what became of it, and every attempt, without its secrets (FR-7, NFR-12)."""

from typing import Any, Final
from uuid import UUID

from scrapejobs.domain.job import PRIORITIES, status_of
from scrapejobs.domain.masking import masked_callback, masked_params, masked_url
from scrapejobs.store.models import Attempt, Delayed, Job, Lease, Queued, Ready

_SHOWN: Final = ("created_at", "deadline_at", "attempts", "max_attempts", "lost", "error_class", "error_code")
_SHOWN_LATER: Final = ("error_detail", "error_at", "finished_at", "discarded_at", "result_size", "result_sha256")
ATTEMPT: Final = ("number", "outcome", "code", "detail", "target_status", "phase", "bytes", "charged", "worker")
_TIMES: Final = ("started_at", "finished_at")


def history_of(job_id: UUID) -> dict[str, Any] | None:
    """Fields by name, and `attempts_made`: every ended attempt, first to last. None when there is no such job."""
    job = Job.objects.select_related("tenant").filter(pk=job_id).first()
    if job is None:
        return None
    attempts = Attempt.objects.filter(job_id=job_id).order_by("number", "seq").values(*ATTEMPT, *_TIMES)
    return {
        "id": job.pk,
        "tenant": job.tenant.name,
        "url": masked_url(job.url),
        "host": job.host,
        "status": status_of(job.final_state, is_leased=Lease.objects.filter(job_id=job_id).exists()),
        "place": place_of(job),
        "priority": PRIORITIES[job.priority],
        "params": masked_params(job.params),
        "callback_url": masked_callback(job.callback_url) if job.callback_url else None,
        "tags": job.tags,
        **{name: getattr(job, name) for name in (*_SHOWN, *_SHOWN_LATER)},
        "attempts_made": list(attempts),
    }


def place_of(job: Job) -> str | None:
    """Which place holds an unfinished job; None for a final one, or one that moves at this moment."""
    if job.final_state:
        return None
    if job.published_at is None:
        return "unpublished"
    places: dict[str, Any] = {"queued": Queued, "delayed": Delayed, "ready": Ready, "lease": Lease}
    return next((name for name, place in places.items() if place.objects.filter(job_id=job.pk).exists()), None)
