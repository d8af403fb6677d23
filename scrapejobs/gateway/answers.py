"""JSON answers."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response

MEDIA_TYPE: Final = "application/json"


def json_answer(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """An answer that no cache keeps: it is one tenant's, and of this moment."""
    return HttpResponse(
        msgspec.json.encode(body),
        status=status,
        content_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store"} | dict(headers or {}),
    )


def tagged_answer(request: HttpRequest, body: Any, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """An answer with an ETag of its bytes: 304 without them when the client has them already (RFC 9110, 13.1.2)."""
    answer = json_answer(body, headers={"Cache-Control": "private, no-cache"} | dict(headers or {}))
    etag = f'"{sha256(answer.content).hexdigest()[:32]}"'
    answer.headers["ETag"] = etag
    return get_conditional_response(request, etag=etag, response=answer) or answer
