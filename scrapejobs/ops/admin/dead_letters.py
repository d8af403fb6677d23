"""The dead-letter backlog: by incident, and one by one; requeue and discard (FR-10)."""

from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from scrapejobs.ops import hints
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

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return super().get_queryset(request).filter(final_state="failed", discarded_at__isnull=True)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list below its groups; a group's link narrows the list to it."""
        groups = run(dead_letters.groups(dead_letters.Filter(), limit=MOST_GROUPS))
        for group in groups:
            group["query"] = urlencode(
                {"host": group["host"], "error_class": group["class"], "error_code": group["code"]}
            )
        return super().changelist_view(request, {**(extra_context or {}), "groups": groups})  # type: ignore[no-any-return]

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
