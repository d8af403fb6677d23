"""JSON answers."""

from collections.abc import Iterable, Mapping
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


def tagged_answer(request: HttpRequest, content: bytes, *, etag: str, headers: Mapping[str, str]) -> HttpResponse:
    """JSON with its ETag: 304 without the bytes when the client has them already (RFC 9110, 13.1.2)."""
    tagged = {"Cache-Control": "private, no-cache", "ETag": etag, **headers}
    answer = HttpResponse(content, content_type=MEDIA_TYPE, headers=tagged)
    return get_conditional_response(request, etag=etag, response=answer) or answer
