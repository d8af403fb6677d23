"""The OpenAPI document, made of the routes and their shapes: it cannot say what the code does not do."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from scrapejobs.gateway import problems
from scrapejobs.gateway.answers import MEDIA_TYPE
from scrapejobs.gateway.lines import MEDIA_TYPE as LINES
from scrapejobs.gateway.problems import PROBLEMS, Mistake
from scrapejobs.gateway.reading import IDEMPOTENCY_KEY
from scrapejobs.gateway.routes import Answer, Route

_REF: Final = "#/components/schemas/{name}"
_ALWAYS: Final = ("bad-host", "bad-request", "internal-error")
_WITH_KEY: Final = ("unauthenticated", "forbidden", "quota-exceeded", "unavailable")
_REQUEST_ID: Final = {"description": "Of this request, for support", "schema": {"type": "string"}}
_HEADER_FORMS: Final = {"Idempotency-Key": {"pattern": f"^(?:{IDEMPOTENCY_KEY})$"}}
_INFO: Final = {
    "title": "scrapejobs",
    "version": "0.1.0",
    "description": (
        "Hand in a URL, get a receipt at once, get the answer when it is there. Times are RFC 3339 in UTC, durations "
        "float seconds, ids UUIDv7, whole numbers without a fraction. Unknown fields and parameters are refused. "
        "Every error is "
        "`application/problem+json` (RFC 9457) whose `type` ends in a name to switch on. What is no HTTP/1.1 at all, "
        "has more than 100 header lines, a head above 400 KiB or a path above 64 KiB, is answered with 400, 431 or 414 "
        "without a body."
    ),
}


class Problem(msgspec.Struct, omit_defaults=True):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str = ""
    errors: list[Mistake] = []


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a table of routes."""
    shapes = {shape for route in routes for shape in _shapes(route)} | {Problem}
    in_order = sorted(shapes, key=lambda shape: str(shape.__name__))
    _, components = msgspec.json.schema_components(in_order, ref_template=_REF)
    by_path = groupby(sorted(routes, key=lambda route: route.path), key=lambda route: route.path)
    return {
        "openapi": "3.1.0",
        "info": _INFO,
        "paths": {path: {route.method.lower(): _operation(route) for route in group} for path, group in by_path},
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "sj_<id>_<secret>"}},
        },
    }


def _shapes(route: Route) -> Iterable[Any]:
    for answer in route.answers:
        yield from (shape for shape in (answer.shape, answer.lines_of) if shape)
    yield from (shape for shape in (route.body, route.lines_of) if shape)


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handle.__name__,
        "summary": route.summary,
        "responses": _responses(route),
    }
    if parameters := list(_parameters(route)):
        operation["parameters"] = parameters
    if route.scope:
        operation["security"] = [{"key": []}]
        operation["description"] = f"Needs a key of scope `{route.scope}`."
    if route.body:
        content = {MEDIA_TYPE: {"schema": _ref(route.body)}}
        if route.lines_of:
            content[LINES] = {"schema": _ref(route.lines_of)}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(route: Route) -> Iterable[dict[str, Any]]:
    if "{id}" in route.path:
        yield _parameter("id", "path", {"type": "string", "format": "uuid"}, required=True)
    for name, meaning in route.headers.items():
        yield _parameter(name, "header", {"type": "string"} | _HEADER_FORMS.get(name, {}), description=meaning)
    for field in msgspec.structs.fields(route.query) if route.query else ():
        schema = msgspec.json.schema(field.type)
        if field.name in route.maps:
            said = f"`{field.name}.<key>=<value>`, once for each key"
            yield _parameter(f"{field.name}.<key>", "query", {"type": "string"}, description=said)
        else:
            if field.default not in {msgspec.UNSET, msgspec.NODEFAULT}:
                schema["default"] = field.default
            yield _parameter(field.name, "query", schema)


def _parameter(name: str, place: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, **more}


def _responses(route: Route) -> dict[str, Any]:
    found = {str(answer.status): _response(answer) for answer in route.answers}
    names = {*_ALWAYS, *route.problems, *(_WITH_KEY if route.scope else ())}
    known = [name for name in PROBLEMS if name in names]
    for status, group in groupby(sorted(known, key=_status), key=_status):
        text = "; ".join(f"`{name}`: {PROBLEMS[name][1]}" for name in group)
        content = {problems.MEDIA_TYPE: {"schema": _ref(Problem)}}
        found[str(status)] = {"description": text, "content": content, "headers": {"X-Request-Id": _REQUEST_ID}}
    return found


def _status(name: str) -> int:
    return PROBLEMS[name][0].value


def _response(answer: Answer) -> dict[str, Any]:
    headers = {name: {"description": said, "schema": {"type": "string"}} for name, said in answer.headers.items()}
    response: dict[str, Any] = {
        "description": answer.meaning,
        "headers": headers | {"X-Request-Id": _REQUEST_ID},
    }
    if answer.shape:
        response["content"] = {answer.media_type: {"schema": _ref(answer.shape)}}
    if answer.lines_of:
        response["content"][LINES] = {"schema": _ref(answer.lines_of)}
    return response


def _ref(shape: Any) -> dict[str, str]:
    return {"$ref": _REF.format(name=shape.__name__)}
