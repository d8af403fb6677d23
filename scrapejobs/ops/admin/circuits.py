"""Circuits of hosts: which are open and why, how they came to be so, and closing them by hand (FR-11)."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from scrapejobs.ops import hints
from scrapejobs.ops.admin.permissions import ReadOnly
from scrapejobs.store import circuits
from scrapejobs.store.models import Circuit, CircuitChange
from scrapejobs.store.run import run


@admin.register(Circuit)
class CircuitAdmin(ReadOnly, ModelAdmin):
    list_display = ("host", "state", "reason", "retry_at", "failures", "busy", "successes", "share", "changed_at")
    fields = list_display
    search_fields = ("host",)
    actions = ("close",)
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Circuit]:
        rows: QuerySet[Circuit] = super().get_queryset(request)
        return rows.annotate(now=Now())

    @admin.display
    def state(self, circuit: Circuit) -> str:
        if circuit.retry_at is None:
            return "closed"
        return "open" if circuit.retry_at > circuit.now else "half-open"  # type: ignore[attr-defined]

    @admin.action(description="Close: let jobs start again", permissions=["operate"])
    def close(self, request: HttpRequest, queryset: QuerySet[Circuit]) -> None:
        chosen = list(queryset)
        closed = [circuit for circuit in chosen if run(circuits.reset(circuit.host))]
        for circuit in closed:
            self.log_change(request, circuit, "closed")
        hints.limits_changed()
        self.message_user(request, f"{len(closed)} of {len(chosen)} are closed", messages.SUCCESS)


@admin.register(CircuitChange)
class CircuitChangeAdmin(ReadOnly, ModelAdmin):
    list_display = ("host", "change", "reason", "at")
    fields = list_display
    search_fields = ("host",)
    show_full_result_count = False
    sortable_by = ()
