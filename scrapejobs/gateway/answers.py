"""JSON answers."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response

from scrapejobs.gateway import lines

MEDIA_TYPE: Final = "application/json"


def json_answer(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """An answer that no cache keeps: it is one tenant's, and of this moment."""
    return HttpResponse(
        msgspec.json.encode(body),
        status=status,
        content_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store"} | dict(headers or {}),
    )


def lines_answer(items: Iterable[Any], *, status: int = 200) -> HttpResponse:
    """One item a line."""
    return HttpResponse(
        b"".join(msgspec.json.encode(item) + b"\n" for item in items),
        status=status,
        content_type=lines.MEDIA_TYPE,
        headers={"Cache-Control": "no-store"},
    )


def tagged_answer(request: HttpRequest, body: Any, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """An answer with an ETag of its bytes: 304 without them when the client has them already (RFC 9110, 13.1.2)."""
    answer = json_answer(body, headers={"Cache-Control": "private, no-cache"} | dict(headers or {}))
    etag = f'"{sha256(answer.content).hexdigest()[:32]}"'
    answer.headers["ETag"] = etag
    return get_conditional_response(request, etag=etag, response=answer) or answer
