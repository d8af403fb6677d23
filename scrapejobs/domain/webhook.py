"""Webhooks by the Standard Webhooks specification: body and signature, and when to try again."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import msgspec

TRIES_AFTER_S: Final = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds between one try and the next, api.md: about 0 s, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h."""

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what a secret begins with


def body_of(job_id: UUID, *, status: str, finished_at: datetime) -> bytes:
    """The thin body of api.md: the receiver asks for the rest, with its key."""
    self_ = f"/jobs/{job_id}"
    body = {
        "id": job_id,
        "status": status,
        "finished_at": finished_at.astimezone(UTC),
        "links": {"self": self_, "result": f"{self_}/result", "attempts": f"{self_}/attempts"},
    }
    return msgspec.json.encode(body)


def sign(*, secrets: Sequence[str], event_id: str, timestamp: int, body: bytes) -> str:
    """The `webhook-signature` of a delivery: for each secret `v1,` and base64 of HMAC-SHA-256 over
    "id.timestamp.body", with spaces between.

    A secret is `whsec_` and base64. Raises ValueError for one that is not.
    """
    signed = f"{event_id}.{timestamp}.".encode() + body
    return " ".join(_signature(secret, signed) for secret in secrets)


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def new_secret(random_bytes: bytes) -> str:
    """A secret of that many random bytes; the specification asks for 24 to 64."""
    return SECRET_PREFIX + base64.b64encode(random_bytes).decode()


def next_try_s(tries: int, *, retry_after_s: float | None) -> float | None:
    """Seconds until the next try after `tries` failed ones, never sooner than the receiver asked; None: give up."""
    if tries >= len(TRIES_AFTER_S):
        return None
    return max(float(TRIES_AFTER_S[tries]), min(retry_after_s or 0.0, 86_400.0))
