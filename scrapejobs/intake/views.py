"""Parse, call one service, render."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse

from scrapejobs.domain.job import Status
from scrapejobs.gateway.answers import json_answer
from scrapejobs.gateway.context import context
from scrapejobs.gateway.reading import body_as, idempotency_key
from scrapejobs.gateway.routes import Call
from scrapejobs.gateway.shapes import Receipt, links_of
from scrapejobs.intake import services
from scrapejobs.intake.acceptance import Origin, accept
from scrapejobs.intake.requests import JobRequest
from scrapejobs.store.ids import new_id
from scrapejobs.store.transitions import IdempotencyKey, fingerprint

PATH = "/jobs"


def submit_job(call: Call) -> HttpResponse:
    request, here = call.request, context()
    name = idempotency_key(request)
    asked = body_as(request, JobRequest)
    job = accept(asked, job_id=new_id(), origin=Origin(call.tenant_id, request.get_host()), context=here)
    key = _key(name, request.data) if name is not None else None
    submitted = services.submit(job, key=key, caller=call.caller, context=here)
    headers = {"Location": f"{PATH}/{submitted.job_id}"}
    if submitted.replayed:
        headers["Idempotency-Replayed"] = "true"
    return json_answer(_receipt(submitted.job_id, Status.QUEUED), status=202, headers=headers)


def cancel_job(call: Call) -> HttpResponse:
    services.cancel(call.job_id, tenant_id=call.tenant_id, context=context())
    return json_answer(_receipt(call.job_id, Status.CANCELLED), status=202)


def requeue_job(call: Call) -> HttpResponse:
    services.requeue(call.job_id, tenant_id=call.tenant_id, context=context())
    return json_answer(_receipt(call.job_id, Status.QUEUED), status=202)


def _key(name: str, body: Any) -> IdempotencyKey:
    here = context()
    return IdempotencyKey(name, here.ring.marks(fingerprint(PATH, body)), here.config.receipt_ttl_s)


def _receipt(job_id: UUID, status: Status) -> Receipt:
    return Receipt(id=job_id, status=status.value, links=links_of(job_id))
