"""Parse, call one selector, render."""

from datetime import UTC, datetime
from math import ceil
from typing import Final

from django.http import HttpResponse

from scrapejobs.domain.job import Status
from scrapejobs.gateway.answers import json_answer, tagged_answer
from scrapejobs.gateway.context import context
from scrapejobs.gateway.routes import Call
from scrapejobs.query import results, selectors
from scrapejobs.query.shapes import Job

ASK_AGAIN_S: Final = 1


def read_job(call: Call) -> HttpResponse:
    job = selectors.read_job(call.job_id, tenant_id=call.tenant_id, config=context().config)
    return tagged_answer(call.request, job, headers=_retry_after(job))


def list_jobs(call: Call) -> HttpResponse:
    return json_answer(selectors.read_page(call.query, tenant_id=call.tenant_id, config=context().config))


def list_attempts(call: Call) -> HttpResponse:
    return json_answer(selectors.read_attempts(call.job_id, tenant_id=call.tenant_id))


def list_deliveries(call: Call) -> HttpResponse:
    return json_answer(selectors.read_deliveries(call.job_id, tenant_id=call.tenant_id))


def list_events(call: Call) -> HttpResponse:
    return json_answer(selectors.read_events(call.query, tenant_id=call.tenant_id, config=context().config))


def link_result(call: Call) -> HttpResponse:
    return json_answer(results.link_to(call.job_id, tenant_id=call.tenant_id))


def _retry_after(job: Job) -> dict[str, str]:
    """When asking again makes sense: not for a final job, and not before the next attempt."""
    if Status(job.status).is_final:
        return {}
    wait_s = (job.next_attempt_at - datetime.now(UTC)).total_seconds() if job.next_attempt_at else 0.0
    return {"Retry-After": str(max(ASK_AGAIN_S, ceil(wait_s)))}
