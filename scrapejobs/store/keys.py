"""API keys of tenants (FR-12): issued, listed, revoked, and found when a client shows one."""

import base64
import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.db.models import QuerySet
from django.db.models.functions import Now

from scrapejobs.store.models import ApiKey, Tenant
from scrapejobs.store.run import Row, Statement, Steps, verb
from scrapejobs.store.tenants import find_tenant

SCOPES: Final[tuple[str, ...]] = ("read", "submit")

_PUBLIC_BYTES: Final = 10
_SECRET_BYTES: Final = 20
_KEY: Final = re.compile(r"sj_([a-z2-7]{16})_([a-z2-7]{32})")


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


@verb()
def find(public_id: str) -> Steps[Row | None]:
    """The key in force with this public id: a row of `api_key/find.sql`."""
    rows = yield Statement("api_key/find", {"public_id": public_id})
    return rows[0] if rows else None


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


def _base32(n_bytes: int) -> str:
    return base64.b32encode(secrets.token_bytes(n_bytes)).decode().lower()
