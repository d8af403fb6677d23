"""Parse, call one service, render."""

from typing import Any
from uuid import UUID

import msgspec
from django.http import HttpResponse

from scrapejobs.domain.job import Status
from scrapejobs.gateway import lines
from scrapejobs.gateway.answers import MEDIA_TYPE, json_answer, lines_answer
from scrapejobs.gateway.context import context
from scrapejobs.gateway.limits import charge_jobs
from scrapejobs.gateway.problems import Problem
from scrapejobs.gateway.reading import body_as, idempotency_key, media_type_of, text_of
from scrapejobs.gateway.routes import Call
from scrapejobs.gateway.shapes import Receipt, Redelivery, links_of
from scrapejobs.intake import bulk, services
from scrapejobs.intake.acceptance import Origin, accept
from scrapejobs.intake.requests import JobRequest
from scrapejobs.store.ids import new_id
from scrapejobs.store.transitions import IdempotencyKey, Submitted, fingerprint

PATH = "/jobs"


def submit_job(call: Call) -> HttpResponse:
    request, here = call.request, context()
    name = idempotency_key(request)
    asked = body_as(request, JobRequest)
    job = accept(
        asked, job_id=new_id(), origin=Origin(call.tenant_id, request.get_host(), call.caller.robots), context=here
    )
    key = _key(name, request.data) if name is not None else None
    submitted = services.submit(job, key=key, caller=call.caller, context=here)
    headers = {"Location": f"{PATH}/{submitted.job_id}"}
    if submitted.replayed:
        headers["Idempotency-Replayed"] = "true"
    return json_answer(_receipt(submitted.job_id, Status.QUEUED), status=202, headers=headers)


def submit_jobs(call: Call) -> HttpResponse:
    """Many jobs. Lines of JSON are answered with lines of JSON."""
    if media_type_of(call.request) == lines.MEDIA_TYPE:
        return _submit_lines(call)
    name = idempotency_key(call.request)
    offered = bulk.of_document(text_of(call.request, media_type=MEDIA_TYPE), whole=name, **_here(call))
    _charge(call, offered)
    done = services.submit_many(offered, name=name, caller=call.caller, context=context())
    headers = {"Idempotency-Replayed": "true"} if done.replayed else {}
    return json_answer({"items": [_told(one) for one in done.items]}, status=202, headers=headers)


def _submit_lines(call: Call) -> HttpResponse:
    name = idempotency_key(call.request)
    if name is not None and (piece := call.request.META.get(lines.PIECE, 0)):
        name = bulk.derived(name, str(piece))
    offered = bulk.of_lines(lines.lines_in(text_of(call.request)), whole=name, **_here(call))
    _charge(call, offered)
    done = services.submit_many(offered, name=name, caller=call.caller, context=context())
    return lines_answer((_told(one) for one in done.items), status=202)


def _charge(call: Call, offered: bulk.Offered) -> None:
    caller = call.caller
    charge_jobs(call.request.META, key=caller.key_id, limit=caller.limit, n=len(offered.items))


def _here(call: Call) -> dict[str, Any]:
    return {"origin": Origin(call.tenant_id, call.request.get_host(), call.caller.robots), "context": context()}


def _told(one: Submitted | Problem) -> Any:
    if isinstance(one, Problem):
        return one.body()
    receipt = msgspec.to_builtins(_receipt(one.job_id, Status.QUEUED))
    return receipt | ({"replayed": True} if one.replayed else {})


def cancel_job(call: Call) -> HttpResponse:
    services.cancel(call.job_id, tenant_id=call.tenant_id, context=context())
    return json_answer(_receipt(call.job_id, Status.CANCELLED), status=202)


def requeue_job(call: Call) -> HttpResponse:
    services.requeue(call.job_id, tenant_id=call.tenant_id, context=context())
    return json_answer(_receipt(call.job_id, Status.QUEUED), status=202)


def redeliver_job(call: Call) -> HttpResponse:
    services.redeliver(call.job_id, tenant_id=call.tenant_id, context=context())
    return json_answer(Redelivery(call.job_id, links_of(call.job_id)), status=202)


def _key(name: str, body: Any) -> IdempotencyKey:
    here = context()
    return IdempotencyKey(name, here.ring.marks(fingerprint(PATH, body)), here.config.receipt_ttl_s)


def _receipt(job_id: UUID, status: Status) -> Receipt:
    return Receipt(id=job_id, status=status.value, links=links_of(job_id))
