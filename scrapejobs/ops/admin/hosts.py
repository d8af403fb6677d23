"""Target hosts: limits, pauses (FR-11)."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from scrapejobs.ops import hints
from scrapejobs.ops.admin.limits_form import SMALLEST, LimitsForm
from scrapejobs.store import hosts
from scrapejobs.store.models import Host
from scrapejobs.store.run import Verb, run


class HostForm(LimitsForm):
    least = {"rate": SMALLEST, "burst": 1, "concurrency": 1}

    class Meta:
        model = Host
        fields = ("name", *hosts.LIMITS)

    def clean_name(self) -> str:
        try:
            return hosts.host_name(self.cleaned_data["name"])
        except hosts.InvalidHostError as error:
            raise ValidationError(str(error)) from None


@admin.register(Host)
class HostAdmin(ModelAdmin):
    form = HostForm
    list_display = ("name", *hosts.LIMITS, "paused_until", "pause_reason")
    search_fields = ("name",)
    actions = ("pause", "resume", "end_backoff")

    def get_readonly_fields(self, request: HttpRequest, obj: Host | None = None) -> tuple[str, ...]:
        return ("name", "paused_until", "pause_reason") if obj else ()

    def get_fields(self, request: HttpRequest, obj: Host | None = None) -> tuple[str, ...]:
        pause = ("paused_until", "pause_reason") if obj else ()
        return ("name", *hosts.LIMITS, *pause)

    def save_model(self, request: HttpRequest, obj: Host, form: Any, change: bool) -> None:
        """Writes what was changed and nothing else: a target's Retry-After may set a pause meanwhile."""
        if change:
            obj.save(update_fields=form.changed_data)
        else:
            obj.save(force_insert=True)
        hints.limits_changed()

    def delete_model(self, request: HttpRequest, obj: Host) -> None:
        super().delete_model(request, obj)
        hints.limits_changed()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        super().delete_queryset(request, queryset)
        hints.limits_changed()

    @admin.action(description="Pause until resumed", permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        self._act(request, queryset, lambda name: hosts.pause(name, for_s=None), "paused")

    @admin.action(description="Resume", permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        self._act(request, queryset, hosts.resume, "resumed")

    @admin.action(description="End a back-off asked for with Retry-After", permissions=["change"])
    def end_backoff(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        self._act(request, queryset, hosts.end_backoff, "freed of its back-off")

    def _act(self, request: HttpRequest, queryset: QuerySet[Host], act: Callable[[str], Verb[Any]], done: str) -> None:
        chosen = list(queryset)
        for host in chosen:
            run(act(host.name))
            self.log_change(request, host, done)
        hints.limits_changed()
        self.message_user(request, f"{done}: {', '.join(host.name for host in chosen)}", messages.SUCCESS)
