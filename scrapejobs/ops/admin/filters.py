"""Filters of the job list that an index answers, also over twelve million rows."""

from typing import Any

from django.contrib.admin import ModelAdmin, SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest

from scrapejobs.domain.job import Status
from scrapejobs.store.models import Job, Lease, Tenant

MOST_CHOICES = 100


class TenantFilter(SimpleListFilter):
    """By tenant: the first hundred by name, and the one chosen."""

    title = "tenant"
    parameter_name = "tenant"

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        names = list(Tenant.objects.values_list("name", flat=True)[:MOST_CHOICES])
        chosen = request.GET.get("tenant")
        return [(name, name) for name in [*names, *([chosen] if chosen and chosen not in names else [])]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        if self.value() is None:
            return queryset
        tenant = Tenant.objects.filter(name=self.value()).values_list("pk", flat=True).first()
        return queryset.filter(tenant_id=tenant) if tenant is not None else queryset.none()


class StatusFilter(SimpleListFilter):
    """By status. Running jobs are few; any other status needs a tenant, whose index holds it."""

    title = "status (choose a tenant for all of them)"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        return [(s, s) for s in Status if s is Status.RUNNING or request.GET.get("tenant")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        status = self.value()
        if status is None:
            return queryset
        running = Lease.objects.values("job_id")
        if status == Status.RUNNING:
            return queryset.filter(pk__in=running, final_state__isnull=True)
        if status == Status.QUEUED:
            return queryset.filter(final_state__isnull=True).exclude(pk__in=running)
        return queryset.filter(final_state=status)
