"""The live processes, by their heartbeats (FR-13)."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from scrapejobs.ops.admin.permissions import ReadOnly
from scrapejobs.ops.liveness import state_of
from scrapejobs.store.models import Lease, Service


@admin.register(Service)
class ServiceAdmin(ReadOnly, ModelAdmin):
    list_display = ("name", "role", "state", "slots", "running", "hostname", "pid", "started_at", "seen_at")
    fields = ("id", *list_display)
    list_filter = ("role",)
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Service]:
        leases = Lease.objects.filter(worker_id=OuterRef("pk")).order_by().values("worker_id")
        running = Subquery(leases.annotate(n=Count("seq")).values("n"))
        rows: QuerySet[Service] = super().get_queryset(request)
        return rows.annotate(n_running=Coalesce(running, 0), now=Now())

    @admin.display
    def running(self, service: Any) -> int:
        return int(service.n_running)

    @admin.display
    def state(self, service: Any) -> str:
        unseen_s = (service.now - service.seen_at).total_seconds()
        row = {"unseen_s": unseen_s, "draining": service.draining}
        return state_of(row, alive_s=settings.CONFIG.alive_s)
