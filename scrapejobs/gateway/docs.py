"""The contract as the gateway tells it: `/openapi.json` for programs, `/docs` for people, without a network."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from scrapejobs.gateway import openapi
from scrapejobs.gateway.answers import json_answer
from scrapejobs.gateway.routes import Answer, Call, Route

HTML: Final = "text/html"
_TEXTS: Final = frozenset({"summary", "description"})
_BACKTICKS: Final = re.compile(r"`([^`]+)`")
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def with_docs(routes: Sequence[Route]) -> tuple[Route, ...]:
    """These routes, and the two that tell about all of them."""

    def openapi_json(call: Call) -> HttpResponse:  # noqa: ARG001 - as every view
        return json_answer(document)

    def docs(call: Call) -> HttpResponse:  # noqa: ARG001 - as every view
        page = render_to_string("gateway/docs.html", page_of(document))
        return HttpResponse(page, headers={"Content-Security-Policy": _POLICY})

    told = (
        *routes,
        Route("GET", "/openapi.json", openapi_json, "The contract for programs", (Answer(200, "OpenAPI 3.1"),)),
        Route("GET", "/docs", docs, "The contract for people", (Answer(200, "A page", media_type=HTML),)),
    )
    document = openapi.document(told)
    return told


def page_of(document: dict[str, Any]) -> dict[str, Any]:
    """The document as its template wants it."""
    operations = [
        {"method": method.upper(), "path": path, **_with_code(operation)}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = {
        name: _code(msgspec.json.format(msgspec.json.encode(schema), indent=2).decode())
        for name, schema in document["components"]["schemas"].items()
    }
    return {"info": _with_code(document["info"]), "operations": operations, "schemas": schemas}


def _with_code(told: Any) -> Any:
    """What is told, with each summary and description as HTML."""
    if isinstance(told, dict):
        return {k: _code(v) if k in _TEXTS and isinstance(v, str) else _with_code(v) for k, v in told.items()}
    return [_with_code(part) for part in told] if isinstance(told, list) else told


def _code(text: str) -> SafeString:
    """Markdown's backticks as HTML; everything else stays text."""
    return mark_safe(_BACKTICKS.sub(r"<code>\1</code>", escape(text)))  # noqa: S308 - it is escaped
