"""The dead-letter backlog: by incident, and one by one; requeue and discard (FR-10)."""

from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from scrapejobs.ops import hints
from scrapejobs.ops.admin import batches
from scrapejobs.ops.admin.jobs import JobView
from scrapejobs.store import dead_letters
from scrapejobs.store.models import DeadLetter, Job
from scrapejobs.store.run import run
from scrapejobs.store.transitions import discard_all, requeue_all

MOST_GROUPS: Final = 20
MOST_AT_ONCE: Final = 10_000


@admin.register(DeadLetter)
class DeadLetterAdmin(JobView):
    list_display = ("id", "tenant", "host", "error_class", "error_code", "attempts", "finished_at")
    lookups = frozenset({"host", "error_class", "error_code"})
    list_before_template = "ops/admin/groups.html"
    actions = ("requeue", "discard")
    buttons = (("requeue", "Requeue"), ("discard", "Discard"))

    def get_urls(self) -> list[URLPattern]:
        batches_url = path("batches/", self.admin_site.admin_view(self.batches), name="store_deadletter_batches")
        return [batches_url, *super().get_urls()]

    def batches(self, request: HttpRequest) -> HttpResponse:
        """All dead letters of a filter, batch by batch."""
        if not self.has_operate_permission(request):
            raise PermissionDenied
        answer = batches.answer(request, note=self.note, context=self.admin_site.each_context(request))
        if request.method == "POST":
            hints.jobs_submitted()
        return answer

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return super().get_queryset(request).filter(final_state="failed", discarded_at__isnull=True)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list below its groups; a group's link narrows the list to it."""
        groups = run(dead_letters.groups(dead_letters.Filter(), limit=MOST_GROUPS))
        for group in groups:
            group["query"] = urlencode(
                {"host": group["host"], "error_class": group["class"], "error_code": group["code"]}
            )
            group["batches"] = urlencode({"host": group["host"], "cls": group["class"] or "", "code": group["code"]})
        names = {"host": "host", "error_class": "cls", "error_code": "code"}
        chosen = {names[name]: value for name, value in request.GET.items() if name in names}
        more = {"groups": groups, "chosen": urlencode(chosen), "may_operate": self.has_operate_permission(request)}
        return super().changelist_view(request, {**(extra_context or {}), **more})  # type: ignore[no-any-return]

    @admin.action(description="Requeue with a fresh set of attempts", permissions=["operate"])
    def requeue(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._act(request, queryset, requeue_all, "requeued")
        hints.jobs_submitted()

    @admin.action(description="Discard", permissions=["operate"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._act(request, queryset, discard_all, "discarded")

    def _act(self, request: HttpRequest, queryset: QuerySet[Job], act: dead_letters.Act, done: str) -> None:
        ids: list[UUID] = list(queryset.values_list("pk", flat=True)[: MOST_AT_ONCE + 1])
        n_done = 0
        for start in range(0, min(len(ids), MOST_AT_ONCE), dead_letters.BATCH):
            changed = run(act(ids[start : min(start + dead_letters.BATCH, MOST_AT_ONCE)]))
            self.note(request, changed, done)
            n_done += len(changed)
        rest = "; there are more: do it again" if len(ids) > MOST_AT_ONCE else ""
        self.message_user(request, f"{n_done} {done}{rest}", messages.SUCCESS)
