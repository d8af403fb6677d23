"""Parse, call one selector, render."""

from datetime import UTC, datetime
from math import ceil
from typing import Final

from django.http import HttpResponse

from scrapejobs.adapters.job_cache import Entry
from scrapejobs.gateway.answers import json_answer, tagged_answer
from scrapejobs.gateway.context import context
from scrapejobs.gateway.routes import Call
from scrapejobs.gateway.waiting import AWAITED, MOST_S, Awaited, of_events, of_job, preferred_wait_s
from scrapejobs.query import cached, results, selectors

ASK_AGAIN_S: Final = 1
FEED_POLL_S: Final = 1.0
"""An event is told before the feed shows it when an older transaction is under way."""


def read_job(call: Call) -> HttpResponse:
    here = context()
    entry = cached.read_job(call.job_id, tenant_id=call.tenant_id, config=here.config, cache=here.cache)
    headers = _retry_after(entry) | {"Vary": "Prefer"}
    wait_s = preferred_wait_s(call.request)
    if wait_s is not None:
        headers["Preference-Applied"] = f"wait={wait_s}"
        if wait_s and not entry.is_final:
            call.request.META[AWAITED] = Awaited(of_job(call.job_id), wait_s, poll_s=MOST_S)
    return tagged_answer(call.request, bytes(entry.body), etag=entry.etag, headers=headers)


def list_jobs(call: Call) -> HttpResponse:
    return json_answer(selectors.read_page(call.query, tenant_id=call.tenant_id, config=context().config))


def list_attempts(call: Call) -> HttpResponse:
    return json_answer(selectors.read_attempts(call.job_id, tenant_id=call.tenant_id))


def list_deliveries(call: Call) -> HttpResponse:
    return json_answer(selectors.read_deliveries(call.job_id, tenant_id=call.tenant_id))


def list_events(call: Call) -> HttpResponse:
    page = selectors.read_events(call.query, tenant_id=call.tenant_id, config=context().config)
    if call.query.wait and not page.items:
        call.request.META[AWAITED] = Awaited(of_events(call.tenant_id), call.query.wait, poll_s=FEED_POLL_S)
    return json_answer(page)


def link_result(call: Call) -> HttpResponse:
    return json_answer(results.link_to(call.job_id, tenant_id=call.tenant_id))


def _retry_after(entry: Entry) -> dict[str, str]:
    """When asking again makes sense: not for a final job, and not before the next attempt."""
    if entry.is_final:
        return {}
    wait_s = (entry.again_at - datetime.now(UTC)).total_seconds() if entry.again_at else 0.0
    return {"Retry-After": str(max(ASK_AGAIN_S, ceil(wait_s)))}
