"""Whether a call really comes from the service, by the Standard Webhooks specification. Needs no API key."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from scrapejobs_client.errors import WebhookError
from scrapejobs_client.shapes import Status

TOLERANCE_S: Final = 300.0
PREFIX: Final = "whsec_"


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """A job has ended. `event_id` is the same on every try: who has seen it does nothing, and answers 2xx."""

    event_id: str
    job_id: str
    status: Status
    finished_at: datetime


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> WebhookEvent:
    """The event of a call that was signed with `secret`, or with one of several while they rotate.

    `body` is the bytes as they came, before any parsing; names of `headers` in any case. Raises `WebhookError` for a
    call that is not signed so, or more than `tolerance_s` ago, and ValueError for a secret that is none.
    """
    given = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    signatures = given.get("webhook-signature", "").split()
    if not (event_id and timestamp and signatures):
        raise WebhookError("a header is missing: webhook-id, webhook-timestamp or webhook-signature")
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise WebhookError("the webhook-timestamp is not a time")
    keys = [_key(text) for text in ([secret] if isinstance(secret, str) else secret)]
    signed = f"{event_id}.{timestamp}.".encode() + body
    wanted = ["v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys]
    if not any(hmac.compare_digest(a.encode(), b.encode()) for a in wanted for b in signatures):
        raise WebhookError("no signature fits: another secret, or another body")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_s:
        raise WebhookError("the call is too old, or this machine's clock is wrong")
    try:
        told = json.loads(body)
        return WebhookEvent(event_id, told["id"], told["status"], datetime.fromisoformat(told["finished_at"]))
    except (ValueError, KeyError, TypeError):
        raise WebhookError("signed, but not the end of a job") from None


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("not a webhook secret; it looks like whsec_<base64>")
    return key
