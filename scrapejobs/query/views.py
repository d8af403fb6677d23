"""Parse, call one selector, render."""

from datetime import UTC, datetime
from math import ceil
from typing import Final

from django.http import HttpResponse

from scrapejobs.adapters.job_cache import Entry
from scrapejobs.gateway.answers import json_answer, tagged_answer
from scrapejobs.gateway.context import context
from scrapejobs.gateway.routes import Call
from scrapejobs.query import cached, results, selectors

ASK_AGAIN_S: Final = 1


def read_job(call: Call) -> HttpResponse:
    here = context()
    entry = cached.read_job(call.job_id, tenant_id=call.tenant_id, config=here.config, cache=here.cache)
    return tagged_answer(call.request, bytes(entry.body), etag=entry.etag, headers=_retry_after(entry))


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


def _retry_after(entry: Entry) -> dict[str, str]:
    """When asking again makes sense: not for a final job, and not before the next attempt."""
    if entry.is_final:
        return {}
    wait_s = (entry.again_at - datetime.now(UTC)).total_seconds() if entry.again_at else 0.0
    return {"Retry-After": str(max(ASK_AGAIN_S, ceil(wait_s)))}
