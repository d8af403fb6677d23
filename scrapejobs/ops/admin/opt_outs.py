"""Hosts whose owners do not want to be fetched."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from scrapejobs.ops import hints
from scrapejobs.store import hosts
from scrapejobs.store.models import OptOut


class OptOutForm(forms.ModelForm):
    class Meta:
        model = OptOut
        fields = ("name", "reason")

    def clean_name(self) -> str:
        try:
            return hosts.host_name(self.cleaned_data["name"])
        except hosts.InvalidHostError as error:
            raise ValidationError(str(error)) from None


@admin.register(OptOut)
class OptOutAdmin(ModelAdmin):
    form = OptOutForm
    list_display = ("name", "reason", "created_at")
    search_fields = ("name", "reason")

    def get_readonly_fields(self, request: HttpRequest, obj: OptOut | None = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    def save_model(self, request: HttpRequest, obj: OptOut, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        hints.limits_changed()

    def delete_model(self, request: HttpRequest, obj: OptOut) -> None:
        super().delete_model(request, obj)
        hints.limits_changed()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[OptOut]) -> None:
        super().delete_queryset(request, queryset)
        hints.limits_changed()
