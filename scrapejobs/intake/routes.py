"""What intake serves."""

from typing import Final

from scrapejobs.gateway.routes import Answer, Route
from scrapejobs.gateway.shapes import BulkAnswer, BulkItemAnswer, Receipt, Redelivery
from scrapejobs.intake import views
from scrapejobs.intake.bulk import MAX_BULK_BYTES, BulkItem, BulkRequest
from scrapejobs.intake.requests import JobRequest

ROUTES: Final = (
    Route(
        "POST",
        "/jobs",
        views.submit_job,
        "Hand a job in",
        (
            Answer(
                202,
                "The job is durable; the receipt names it",
                Receipt,
                {
                    "Location": "Where the job is",
                    "Idempotency-Replayed": "`true` when this receipt was given before",
                },
            ),
        ),
        scope="submit",
        body=JobRequest,
        headers={
            "Idempotency-Key": "1 to 255 visible ASCII characters, bare or quoted; names this job among the tenant's"
        },
        problems=(
            "invalid-json",
            "json-too-deep",
            "invalid-request",
            "invalid-url",
            "url-not-allowed",
            "host-opted-out",
            "header-not-allowed",
            "callback-not-allowed",
            "invalid-idempotency-key",
            "length-required",
            "payload-too-large",
            "request-timeout",
            "unsupported-media-type",
            "idempotency-key-reused",
            "queue-full",
        ),
    ),
    Route(
        "POST",
        "/jobs/bulk",
        views.submit_jobs,
        "Hand many jobs in; each is taken or refused by itself",
        (
            Answer(
                202,
                "What became of each job, in their order; what was taken is durable",
                BulkAnswer,
                {"Idempotency-Replayed": "`true` when this bulk was handed in before"},
                lines_of=BulkItemAnswer,
            ),
        ),
        scope="submit",
        body=BulkRequest,
        lines_of=BulkItem,
        max_body_bytes=MAX_BULK_BYTES,
        headers={
            "Idempotency-Key": "1 to 255 visible ASCII characters, bare or quoted; names this bulk among the tenant's"
        },
        problems=(
            "invalid-json",
            "json-too-deep",
            "invalid-request",
            "invalid-idempotency-key",
            "length-required",
            "too-many-items",
            "payload-too-large",
            "request-timeout",
            "unsupported-media-type",
            "idempotency-key-reused",
        ),
    ),
    Route(
        "POST",
        "/jobs/{id}/cancel",
        views.cancel_job,
        "Cancel a job; a running one has its connection closed",
        (Answer(202, "The job is cancelled, now or before", Receipt),),
        scope="submit",
        problems=("not-found", "already-final"),
    ),
    Route(
        "POST",
        "/jobs/{id}/requeue",
        views.requeue_job,
        "Send a failed job back with a fresh set of attempts",
        (Answer(202, "The job is queued again", Receipt),),
        scope="submit",
        problems=("not-found", "not-failed", "secrets-erased"),
    ),
    Route(
        "POST",
        "/jobs/{id}/deliveries/redeliver",
        views.redeliver_job,
        "Send the webhook of a job's latest end again, under the same id",
        (Answer(202, "It is sent again, signed afresh, with the whole schedule before it", Redelivery),),
        scope="submit",
        problems=("not-found", "no-delivery"),
    ),
)
