"""Cursors: where a page ended, signed, and good only for the tenant and the filter that it was made for."""

import base64
import hmac
import re
from typing import Any, Final
from uuid import UUID

import msgspec

from scrapejobs.gateway.problems import Problem

_VERSION: Final = b"\x01"
_MAC_BYTES: Final = 16
_FORM: Final = re.compile(r"[A-Za-z0-9_-]{44}")
"""1 + 16 + 16 bytes in base64, without padding or spare bits, and in one alphabet: each text is one cursor."""


def issue(last: UUID, *, tenant_id: int, wanted: Any, secret: str) -> str:
    """The cursor of a page whose last item was `last`."""
    mac = _mac(last, tenant_id=tenant_id, wanted=wanted, secret=secret)
    return base64.urlsafe_b64encode(_VERSION + last.bytes + mac).decode()


def redeem(cursor: str, *, tenant_id: int, wanted: Any, secret: str) -> UUID:
    """The last item of the page before. Raises `Problem` invalid-cursor for any that was not issued for this."""
    problem = Problem("invalid-cursor", "not a cursor of this list; begin without one")
    if not _FORM.fullmatch(cursor):
        raise problem
    raw = base64.urlsafe_b64decode(cursor)
    last = UUID(bytes=raw[1:17])
    mac = _mac(last, tenant_id=tenant_id, wanted=wanted, secret=secret)
    if raw[:1] != _VERSION or not hmac.compare_digest(raw[17:], mac):
        raise problem
    return last


def _mac(last: UUID, *, tenant_id: int, wanted: Any, secret: str) -> bytes:
    bound = msgspec.json.encode(["cursor", tenant_id, wanted, last], order="deterministic")
    return hmac.digest(secret.encode(), bound, "sha256")[:_MAC_BYTES]
