"""The contract as the gateway tells it: `/openapi.json` for programs, `/docs` for people, without a network."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from django.http import HttpResponse
from django.template.loader import render_to_string

from scrapejobs.gateway import openapi
from scrapejobs.gateway.answers import json_answer
from scrapejobs.gateway.routes import Answer, Call, Route

HTML: Final = "text/html"
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
        {"method": method.upper(), "path": path, **operation}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = {
        name: msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
        for name, schema in document["components"]["schemas"].items()
    }
    return {"info": document["info"], "operations": operations, "schemas": schemas}
