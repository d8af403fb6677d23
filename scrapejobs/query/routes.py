"""What query serves."""

from typing import Final

from scrapejobs.gateway.routes import Answer, Route
from scrapejobs.query import views
from scrapejobs.query.shapes import (
    AttemptList,
    DeliveryList,
    EventPage,
    EventQuery,
    Job,
    JobPage,
    ListQuery,
    ResultLink,
)

ROUTES: Final = (
    Route(
        "GET",
        "/jobs",
        views.list_jobs,
        "List own jobs, newest first",
        (Answer(200, "A page", JobPage),),
        scope="read",
        query=ListQuery,
        maps=("tag",),
        problems=("invalid-request", "invalid-cursor"),
    ),
    Route(
        "GET",
        "/jobs/{id}",
        views.read_job,
        "Read a job",
        (
            Answer(
                200,
                "The job",
                Job,
                {
                    "ETag": "Of these bytes",
                    "Retry-After": "Seconds; while it is not final",
                    "Preference-Applied": "The wait that was asked for, as far as it is allowed",
                },
            ),
            Answer(304, "The client has it already"),
        ),
        scope="read",
        headers={
            "If-None-Match": "An ETag of an earlier answer",
            "Prefer": "`wait=20` holds the answer until the job is final, or for so many seconds, 30 at most",
        },
        problems=("not-found",),
    ),
    Route(
        "GET",
        "/jobs/{id}/attempts",
        views.list_attempts,
        "See every attempt with the target's answer",
        (Answer(200, "The attempts, the one under way last", AttemptList),),
        scope="read",
        problems=("not-found",),
    ),
    Route(
        "GET",
        "/jobs/{id}/deliveries",
        views.list_deliveries,
        "See the webhooks of a job with every try",
        (Answer(200, "The deliveries with their tries, oldest first", DeliveryList),),
        scope="read",
        problems=("not-found",),
    ),
    Route(
        "GET",
        "/events",
        views.list_events,
        "Read finish events, oldest first",
        (Answer(200, "The next events; none may be missed by going on after `next_cursor`", EventPage),),
        scope="read",
        query=EventQuery,
        problems=("invalid-request", "invalid-cursor"),
    ),
    Route(
        "GET",
        "/jobs/{id}/result",
        views.link_result,
        "Get a signed link to the result",
        (Answer(200, "The link", ResultLink),),
        scope="read",
        problems=("not-found", "result-not-ready", "no-result", "result-expired", "unavailable"),
    ),
)
