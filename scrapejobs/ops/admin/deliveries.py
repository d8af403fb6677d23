"""Webhooks: what was sent and how it went, sending it again; receivers that fail, and switching them on (FR-9)."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator

from scrapejobs.ops.admin.permissions import FewLookups, ReadOnly
from scrapejobs.ops.redelivering import redeliver_and_tell
from scrapejobs.store import endpoints
from scrapejobs.store.models import Delivery, Endpoint
from scrapejobs.store.run import run

MOST_AT_ONCE = 1_000


@admin.register(Delivery)
class DeliveryAdmin(FewLookups, ReadOnly, ModelAdmin):
    list_display = (
        "event_id",
        "job_id",
        "url",
        "state",
        "tries",
        "last_status",
        "last_error",
        "next_try_at",
        "created_at",
    )
    fields = (*list_display, "redelivered_at")
    ordering = ("-event_id",)
    lookups = frozenset({"state", "state__exact"})
    list_filter = ("state",)
    search_fields = ("=event_id", "=job_id")
    search_help_text = "A webhook-id or a job's id."
    list_disable_select_all = True
    show_full_result_count = False
    paginator = InfinitePaginator
    sortable_by = ()
    actions = ("redeliver",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        """By id alone."""
        try:
            return super().get_search_results(request, queryset, search_term)  # type: ignore[no-any-return]
        except (ValueError, TypeError):
            return queryset.none(), False

    @admin.action(description="Send again", permissions=["operate"])
    def redeliver(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        chosen = list(queryset[:MOST_AT_ONCE])
        sent = redeliver_and_tell([row.pk for row in chosen])
        for row in chosen:
            self.log_change(request, row, "sent again")
        self.message_user(request, f"{len(sent)} are sent again", messages.SUCCESS)


@admin.register(Endpoint)
class EndpointAdmin(FewLookups, ReadOnly, ModelAdmin):
    list_display = ("origin", "tenant", "failing_since", "failures", "off_at", "reason")
    fields = list_display
    list_select_related = ("tenant",)
    search_fields = ("origin", "tenant__name")
    show_full_result_count = False
    sortable_by = ()
    actions = ("switch_on",)

    @admin.action(description="Switch on: events are sent again", permissions=["operate"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        chosen: list[Any] = list(queryset)
        n = run(endpoints.switch_on([row.pk for row in chosen]))
        for row in chosen:
            self.log_change(request, row, "switched on")
        self.message_user(request, f"{n} are switched on", messages.SUCCESS)
