"""Tenants and their API keys (FR-12): made here, kept as rows, changed by commands and admin."""

import base64
import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.db.models.functions import Now

from scrapejobs.domain.webhook import new_secret
from scrapejobs.store.models import ApiKey, Tenant

SCOPES: Final[tuple[str, ...]] = ("read", "submit")
LIMITS: Final[tuple[str, ...]] = ("weight", "rate", "burst", "daily", "max_running", "max_queued")

_PUBLIC_BYTES: Final = 10
_SECRET_BYTES: Final = 20
_WEBHOOK_BYTES: Final = 32
_NAME: Final = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?")
_KEY: Final = re.compile(r"sj_([a-z2-7]{16})_([a-z2-7]{32})")


class TenantNotFoundError(LookupError):
    """No tenant has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no tenant is called {name!r}")


class KeyNotFoundError(LookupError):
    """No key in force has this id."""

    def __init__(self, public_id: str) -> None:
        super().__init__(f"no key in force has the id {public_id!r}")


@dataclass(frozen=True, slots=True)
class Credential:
    """What a client sends, taken apart: `sj_<public_id>_<secret>`."""

    public_id: str
    secret: str

    def __str__(self) -> str:
        return f"sj_{self.public_id}_{self.secret}"

    def __repr__(self) -> str:
        return f"Credential(sj_{self.public_id}_***)"

    @property
    def sha256(self) -> bytes:
        """What is stored of the secret."""
        return hashlib.sha256(self.secret.encode()).digest()


def parse_key(text: str) -> Credential | None:
    """The parts of an API key; None when it has not the form of one."""
    found = _KEY.fullmatch(text)
    return Credential(*found.groups()) if found else None


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
    """Sets the named limits; None clears one. Raises `TenantNotFoundError`, `ValidationError`."""
    tenant = find_tenant(name)
    for field, value in changes.items():
        setattr(tenant, field, value)
    tenant.full_clean()
    tenant.save(update_fields=list(changes))
    return tenant


def create_key(tenant_name: str, scopes: Collection[str] = SCOPES) -> str:
    """A new key, in full: it cannot be shown again. Raises `TenantNotFoundError`, `ValueError` (a bad scope)."""
    return str(issue_key(find_tenant(tenant_name), scopes)[1])


def issue_key(tenant: Tenant, scopes: Collection[str]) -> tuple[ApiKey, Credential]:
    """A new key's row and the key itself. Raises `ValueError` unless the scopes are some of `SCOPES`."""
    wrong = sorted(set(scopes) - set(SCOPES))
    if wrong or not scopes:
        raise ValueError(f"a key has one or more of the scopes {', '.join(SCOPES)}; not {', '.join(wrong) or 'none'}")
    credential = Credential(public_id=_base32(_PUBLIC_BYTES), secret=_base32(_SECRET_BYTES))
    row = ApiKey.objects.create(
        tenant=tenant,
        public_id=credential.public_id,
        secret_sha256=credential.sha256,
        scopes=sorted(set(scopes)),
    )
    return row, credential


def revoke_key(public_id: str) -> ApiKey:
    """Takes a key out of force, for good. Raises `KeyNotFoundError`; one revoked before is not known either."""
    if not ApiKey.objects.filter(public_id=public_id, revoked_at__isnull=True).update(revoked_at=Now()):
        raise KeyNotFoundError(public_id)
    return ApiKey.objects.select_related("tenant").get(public_id=public_id)


def keys_of(tenant_name: str | None) -> QuerySet[ApiKey]:
    """The keys of one tenant, or of all, oldest first. Raises `TenantNotFoundError`."""
    keys = ApiKey.objects.select_related("tenant").order_by("tenant__name", "id")
    return keys if tenant_name is None else keys.filter(tenant=find_tenant(tenant_name))


def new_webhook_secret() -> str:
    """A secret of Standard Webhooks."""
    return new_secret(secrets.token_bytes(_WEBHOOK_BYTES))


def _base32(n_bytes: int) -> str:
    return base64.b32encode(secrets.token_bytes(n_bytes)).decode().lower()
