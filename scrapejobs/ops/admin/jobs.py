"""Jobs, to be looked at: where each is, every attempt, secrets masked; an unfinished one can be cancelled."""

import json
from typing import Any, ClassVar, Final, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.admin import ModelAdmin, TabularInline
from unfold.paginator import InfinitePaginator

from scrapejobs.domain.job import PRIORITIES, status_of
from scrapejobs.domain.masking import masked_callback, masked_params, masked_url
from scrapejobs.ops.admin.filters import StatusFilter, TenantFilter
from scrapejobs.ops.admin.permissions import FewLookups, ReadOnly
from scrapejobs.ops.cancelling import cancel_and_tell
from scrapejobs.ops.history import ATTEMPT, place_of
from scrapejobs.store.models import Attempt, Job, Lease

MOST_AT_ONCE: Final = 1_000

_RESULT: Final = ("result_size", "result_content_type", "result_sha256", "result_complete")
_ERROR: Final = ("error_class", "error_code", "error_detail", "error_at")
_TIMES: Final = ("created_at", "deadline_at", "published_at", "started_at", "finished_at", "discarded_at")


class AttemptInline(ReadOnly, TabularInline):
    """The error history of a job (FR-7)."""

    model = Attempt
    fk_name = "job"
    fields = readonly_fields = (*ATTEMPT, "started_at", "finished_at", "dialled", "evidence")
    ordering = ("number", "seq")
    extra = 0
    verbose_name_plural = "attempts"

    @admin.display(empty_value="-")
    def dialled(self, attempt: Attempt) -> Any:
        """The address that was dialled last: for operators, who may know their network."""
        return attempt.exchange.get("address")

    @admin.display(description="first bytes of the refused answer", empty_value="-")
    def evidence(self, attempt: Attempt) -> Any:
        """Text that a target chose; the template escapes it."""
        return attempt.exchange.get("evidence") or None


class JobView(FewLookups, ReadOnly, ModelAdmin):
    """What the pages of jobs and of dead letters have in common: one job, and nothing secret in it (NFR-12)."""

    fieldsets = (
        (None, {"fields": ("id", "status", "place", "tenant", "target", "host", "priority_name", "labels")}),
        ("Error", {"fields": _ERROR}),
        ("Attempts", {"fields": ("attempts", "max_attempts", "lost", "last_number")}),
        ("Result", {"fields": _RESULT}),
        ("Request", {"fields": ("request_params", "callback")}),
        ("Times", {"fields": _TIMES}),
    )
    inlines = (AttemptInline,)
    list_select_related = ("tenant",)
    list_per_page = 50
    show_full_result_count = False
    sortable_by = ()
    change_form_outer_before_template = "ops/admin/job_buttons.html"
    buttons: ClassVar[tuple[tuple[str, str], ...]]
    """What may be done to the one job shown: actions and their labels."""

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        more = {"buttons": self.buttons, "may_operate": self.has_operate_permission(request)}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **more})  # type: ignore[no-any-return]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        leases = Lease.objects.filter(job_id=OuterRef("pk"))
        return super().get_queryset(request).annotate(is_leased=Exists(leases))  # type: ignore[no-any-return]

    @admin.display
    def status(self, job: Any) -> str:
        return status_of(job.final_state, is_leased=job.is_leased)

    @admin.display(empty_value="-")
    def place(self, job: Job) -> str | None:
        return place_of(job)

    @admin.display(description="url")
    def target(self, job: Job) -> str:
        return masked_url(job.url)

    @admin.display(description="priority")
    def priority_name(self, job: Job) -> str:
        return PRIORITIES[job.priority]

    @admin.display(description="params")
    def request_params(self, job: Job) -> str:
        return json.dumps(masked_params(job.params), ensure_ascii=False)

    @admin.display(description="callback url", empty_value="-")
    def callback(self, job: Job) -> str | None:
        return masked_callback(job.callback_url) if job.callback_url else None

    @admin.display(description="tags", empty_value="-")
    def labels(self, job: Job) -> str:
        return ", ".join(f"{name}={value}" for name, value in job.tags.items())

    def note(self, request: HttpRequest, ids: list[UUID], done: str) -> None:
        """Writes down who did what to which jobs."""
        rows = self.model.objects.filter(pk__in=ids)
        LogEntry.objects.log_actions(cast(int, request.user.pk), rows, CHANGE, change_message=done)


@admin.register(Job)
class JobAdmin(JobView):
    list_display = ("id", "status", "tenant", "host", "priority_name", "attempts", "error_code", "created_at")
    lookups = frozenset({"tenant", "status"})
    list_filter = (TenantFilter, StatusFilter)
    paginator = InfinitePaginator
    search_fields = ("id",)
    search_help_text = "A job's id; with a tenant chosen also a host, exactly."
    list_disable_select_all = True
    actions = ("cancel_jobs",)
    buttons = (("cancel_jobs", "Cancel"),)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Job], search_term: str
    ) -> tuple[QuerySet[Job], bool]:
        """By what an index answers: an id, or a tenant's host."""
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(pk=UUID(term)), False
        except ValueError:
            return (queryset.filter(host=term.lower()) if request.GET.get("tenant") else queryset.none()), False

    @admin.action(description="Cancel", permissions=["operate"])
    def cancel_jobs(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        ids = list(queryset.values_list("pk", flat=True)[:MOST_AT_ONCE])
        cancelled = cancel_and_tell(ids)
        self.note(request, cancelled, "cancelled")
        self.message_user(request, f"{len(cancelled)} of {len(ids)} are cancelled", messages.SUCCESS)
