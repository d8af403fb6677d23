"""Acting on all dead letters of a filter from the admin: asked once, then batch by batch (FR-10, case S20).

The page drives: each POST does one committed batch. So it can be stopped between any two, and begun again: what is
done leaves the filter, and `until` keeps what fails again meanwhile out of it.
"""

from dataclasses import replace
from typing import Final, Protocol
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from scrapejobs.store import dead_letters
from scrapejobs.store.clock import now
from scrapejobs.store.dead_letters import Filter
from scrapejobs.store.run import run
from scrapejobs.store.transitions import discard_all, requeue_all

BATCH: Final = 250
ACTS: Final[dict[str, dead_letters.Act]] = {"requeue": requeue_all, "discard": discard_all}
DONE: Final = {"requeue": "requeued", "discard": "discarded"}


class Note(Protocol):
    """Writes down who did what to which jobs."""

    def __call__(self, request: HttpRequest, ids: list[UUID], done: str) -> None: ...


class BatchForm(forms.Form):
    """What is to be done to which dead letters, and how many there were when it began."""

    act = forms.ChoiceField(choices=[(name, name) for name in ACTS])
    host = forms.CharField(required=False)
    cls = forms.CharField(required=False)
    code = forms.CharField(required=False)
    until = forms.DateTimeField(required=False)
    total = forms.IntegerField(required=False, min_value=0)

    def which(self) -> Filter:
        data = self.cleaned_data
        cls, code = data["cls"] or None, data["code"] or None
        return Filter(host=data["host"] or None, cls=cls, code=code, until=data["until"] or run(now()))


def answer(request: HttpRequest, *, note: Note, context: dict[str, object]) -> HttpResponse:
    """GET asks, with the count; POST does one batch and says how far it is, as JSON or as a page."""
    form = BatchForm(request.POST if request.method == "POST" else request.GET)
    if not form.is_valid():
        return HttpResponse("what is to be done?", status=400, content_type="text/plain")
    which, act = form.which(), form.cleaned_data["act"]
    finished = False
    if request.method == "POST":
        changed = dead_letters.act_on_next(which, ACTS[act], limit=BATCH)
        finished = changed is None
        note(request, changed or [], DONE[act])
    left = sum(row["jobs"] for row in run(dead_letters.groups(which)))
    total = max(form.cleaned_data["total"] or 0, left)
    state = {"done": total - left, "total": total, "finished": finished}
    if request.accepts("text/html"):
        fields = {"act": act, **_fields(which), "total": total}
        page = {**context, **state, "act": act, "which": replace(which, until=None), "fields": fields}
        return render(request, "ops/admin/batches.html", {**page, "begun": request.method == "POST"})
    return JsonResponse(state)


def _fields(which: Filter) -> dict[str, str]:
    until = which.until.isoformat() if which.until else ""
    return {
        "host": which.host or "",
        "cls": which.cls or "",
        "code": which.code or "",
        "until": until,
    }
