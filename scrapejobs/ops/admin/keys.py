"""API keys: issued (the secret is shown this once), listed, revoked (FR-12)."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.debug import sensitive_variables
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from scrapejobs.ops import hints
from scrapejobs.ops.admin.permissions import FewLookups, ReadOnly
from scrapejobs.store.keys import SCOPES, KeyNotFoundError, issue_key, revoke_key
from scrapejobs.store.models import ApiKey


class KeyForm(forms.ModelForm):
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        initial=list(SCOPES),
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )

    class Meta:
        model = ApiKey
        fields = ("tenant", "scopes")


@admin.register(ApiKey)
class ApiKeyAdmin(FewLookups, ReadOnly, ModelAdmin):
    form = KeyForm
    list_display = ("public_id", "tenant", "scopes", "created_at", "revoked_at")
    list_select_related = ("tenant",)
    search_fields = ("public_id", "tenant__name")
    autocomplete_fields = ("tenant",)
    actions = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> tuple[str, ...]:
        return ("public_id", "tenant", "scopes", "created_at", "revoked_at") if obj else ("tenant", "scopes")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("store.add_apikey"))

    @sensitive_variables("credential")
    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Issues a key; the form makes no row of its own."""
        row, credential = issue_key(obj.tenant, obj.scopes)
        obj.pk, obj.public_id = row.pk, row.public_id
        request.issued_key = str(credential)  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """Shows the key in this answer alone: it is in no message, cookie, session or log."""
        context = {**self.admin_site.each_context(request), "title": "New API key", "key": request.issued_key}  # type: ignore[attr-defined]
        return TemplateResponse(request, "ops/admin/new_key.html", context)

    @admin.action(description="Revoke, at once and for good", permissions=["operate"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        n_revoked = 0
        for public_id in list(queryset.values_list("public_id", flat=True)):
            try:
                self.log_change(request, revoke_key(public_id), "revoked")
                n_revoked += 1
            except KeyNotFoundError:
                continue
        hints.keys_changed()
        self.message_user(request, f"{n_revoked} revoked", messages.SUCCESS)
