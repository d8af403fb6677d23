"""Tenants (FR-12): made here, kept as rows, changed by commands and admin."""

import re
import secrets
from datetime import timedelta
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db.models import F
from django.db.models.functions import Now

from scrapejobs.domain.webhook import new_secret
from scrapejobs.store.models import Tenant
from scrapejobs.store.run import Statement, Steps, verb

LIMITS: Final[tuple[str, ...]] = ("weight", "rate", "burst", "daily", "max_running", "max_queued")
SETTABLE: Final = (*LIMITS, "robots")

SECRET_OVERLAP_S: Final = 86_400.0
"""How long two secrets of a tenant are live, unless a person says otherwise."""

_WEBHOOK_BYTES: Final = 32
_NAME: Final = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?")


class TenantNotFoundError(LookupError):
    """No tenant has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no tenant is called {name!r}")


def find_tenant(name: str) -> Tenant:
    """The tenant of that name. Raises `TenantNotFoundError`."""
    try:
        return Tenant.objects.get(name=name)
    except Tenant.DoesNotExist:
        raise TenantNotFoundError(name) from None


def check_name(name: str) -> None:
    """Raises Django's `ValidationError` for a name that a person could not read or type again."""
    if not _NAME.fullmatch(name):
        raise ValidationError("a name is 1 to 100 visible characters, without a space at an end")


def add_tenant(name: str) -> Tenant:
    """A new tenant without limits. Raises Django's `ValidationError` for a bad name or one in use."""
    check_name(name)
    tenant = Tenant(name=name, webhook_secret=new_webhook_secret())
    tenant.full_clean()
    tenant.save(force_insert=True)
    return tenant


def ensure_tenant(name: str) -> Tenant:
    """The tenant of that name, made when there is none. Raises Django's `ValidationError` for a bad name."""
    return Tenant.objects.filter(name=name).first() or add_tenant(name)


def change_tenant(name: str, changes: dict[str, Any]) -> Tenant:
    """Sets the named fields of `SETTABLE`; None clears a limit. Raises `TenantNotFoundError`, `ValidationError`."""
    tenant = find_tenant(name)
    for field, value in changes.items():
        setattr(tenant, field, value)
    tenant.full_clean()
    tenant.save(update_fields=list(changes))
    return tenant


def rotate_webhook_secret(name: str, *, overlap_s: float) -> str:
    """A new secret for a tenant's webhooks; the one before signs beside it for so many seconds. At most two are live:
    rotated twice, the oldest is gone at once. Raises `TenantNotFoundError`.
    """
    secret = new_webhook_secret()
    changed = Tenant.objects.filter(name=name).update(
        webhook_secret_old=F("webhook_secret"),
        webhook_secret_old_until=Now() + timedelta(seconds=overlap_s),
        webhook_secret=secret,
    )
    if not changed:
        raise TenantNotFoundError(name)
    return secret


def new_webhook_secret() -> str:
    """A secret of Standard Webhooks."""
    return new_secret(secrets.token_bytes(_WEBHOOK_BYTES))


@verb()
def used_today(tenant_id: int) -> Steps[tuple[int, int]]:
    """How many jobs a tenant with a daily quota has handed in today, and the seconds until the next day of UTC."""
    (row,) = yield Statement("usage/today", {"tenant_id": tenant_id})
    return row["jobs"], row["left_s"]
