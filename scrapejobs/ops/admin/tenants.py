"""Tenants with their shares and quotas (FR-12)."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from scrapejobs.ops import hints
from scrapejobs.ops.admin.limits_form import SMALLEST, LimitsForm
from scrapejobs.ops.admin.permissions import FewLookups
from scrapejobs.store.models import Tenant
from scrapejobs.store.tenants import LIMITS, check_name, new_webhook_secret


class TenantForm(LimitsForm):
    least = {"weight": SMALLEST, "rate": SMALLEST, "burst": 1, "daily": 0, "max_running": 1, "max_queued": 0}

    class Meta:
        model = Tenant
        fields = ("name", *LIMITS)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        check_name(name)
        return name


@admin.register(Tenant)
class TenantAdmin(FewLookups, ModelAdmin):
    form = TenantForm
    list_display = ("name", *LIMITS, "created_at")
    search_fields = ("name",)

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        """Writes what was changed and nothing else, then tells the dispatcher."""
        if change:
            obj.save(update_fields=form.changed_data)
        else:
            obj.webhook_secret = new_webhook_secret()
            obj.save(force_insert=True)
        hints.limits_changed()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A tenant's jobs outlive a click: nobody deletes one here."""
        return False
