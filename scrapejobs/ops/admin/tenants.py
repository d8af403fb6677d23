"""Tenants with their shares and quotas (FR-12)."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.debug import sensitive_variables
from unfold.admin import ModelAdmin

from scrapejobs.ops import hints
from scrapejobs.ops.admin.limits_form import SMALLEST, LimitsForm
from scrapejobs.ops.admin.permissions import FewLookups
from scrapejobs.store.models import Tenant
from scrapejobs.store.tenants import (
    SECRET_OVERLAP_S,
    SETTABLE,
    check_name,
    new_webhook_secret,
    rotate_webhook_secret,
)


class TenantForm(LimitsForm):
    least = {"weight": SMALLEST, "rate": SMALLEST, "burst": 1, "daily": 0, "max_running": 1, "max_queued": 0}

    class Meta:
        model = Tenant
        fields = ("name", *SETTABLE)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        check_name(name)
        return name


@admin.register(Tenant)
class TenantAdmin(FewLookups, ModelAdmin):
    form = TenantForm
    list_display = ("name", *SETTABLE, "created_at")
    search_fields = ("name",)
    actions = ("rotate_secret",)

    @sensitive_variables("secret")
    @admin.action(description="Rotate the secret of its webhooks", permissions=["change"])
    def rotate_secret(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> HttpResponse | None:
        """Shows the new secret in this answer alone: it is in no message, cookie, session or log."""
        tenants = list(queryset[:2])
        if len(tenants) != 1:
            self.message_user(request, "one tenant at a time: its new secret is shown", messages.ERROR)
            return None
        secret = rotate_webhook_secret(tenants[0].name, overlap_s=SECRET_OVERLAP_S)
        tenants[0].refresh_from_db()
        self.log_change(request, tenants[0], "webhook secret rotated")
        until = tenants[0].webhook_secret_old_until
        context = {"title": "New webhook secret", "tenant": tenants[0], "secret": secret, "until": until}
        return TemplateResponse(
            request, "ops/admin/new_secret.html", {**self.admin_site.each_context(request), **context}
        )

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        """Writes what was changed and nothing else, then tells the dispatcher."""
        if change:
            obj.save(update_fields=form.changed_data)
        else:
            obj.webhook_secret = new_webhook_secret()
            obj.save(force_insert=True)
        hints.limits_changed()
        hints.keys_changed()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A tenant's jobs outlive a click: nobody deletes one here."""
        return False
