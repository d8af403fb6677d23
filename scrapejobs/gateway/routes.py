"""Routes as a table: from it come the URL patterns, the checks that all requests share, and the OpenAPI document."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, Literal, cast
from uuid import UUID

import msgspec
from django.http import HttpResponse
from django.urls import URLPattern, path, register_converter
from rest_framework.request import Request
from rest_framework.views import APIView

from scrapejobs.gateway.answers import MEDIA_TYPE
from scrapejobs.gateway.auth import AUTHENTICATION, NOBODY, Caller, require
from scrapejobs.gateway.reading import MAX_BODY_BYTES, check_body, query_as

Scope = Literal["read", "submit"]


class NoQuery(msgspec.Struct, forbid_unknown_fields=True):
    """No parameter at all."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, checked as far as its route says: who calls, which job, which query."""

    request: Request
    caller: Caller
    job_id: UUID
    query: Any

    @property
    def tenant_id(self) -> int:
        return self.caller.tenant_id


@dataclass(frozen=True, slots=True)
class Answer:
    """One way a route answers well: its status, the shape of its body, and what it means. `lines_of`: the shape of a
    line, where it may be lines of JSON as well.
    """

    status: int
    meaning: str
    shape: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = MEDIA_TYPE
    lines_of: Any = None


@dataclass(frozen=True, slots=True)
class Route:
    """A method of a path. `scope` None: anyone may ask. `maps` are the query fields that gather `name.key`. `lines_of`:
    the shape of a line, where the body may be lines of JSON as well.
    """

    method: Literal["GET", "POST"]
    path: str
    handle: Callable[[Call], HttpResponse]
    summary: str
    answers: Sequence[Answer]
    scope: Scope | None = None
    query: Any = None
    maps: tuple[str, ...] = ()
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[str] = ()
    max_body_bytes: int = MAX_BODY_BYTES
    lines_of: Any = None


class JobIdConverter:
    """A UUID in its one written form; lower or upper case."""

    regex = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

    def to_python(self, value: str) -> UUID:
        return UUID(value)

    def to_url(self, value: UUID) -> str:
        return str(value)


register_converter(JobIdConverter, "job_id")

_NO_JOB: Final = UUID(int=0)


class Endpoint(APIView):
    """One path with its routes: authenticates, checks scope, body headers and query, and hands over."""

    routes: Mapping[str, Route] = {}

    @classmethod
    def of(cls, routes: Iterable[Route]) -> Callable[..., HttpResponse]:
        """The Django view of the routes of one path. HEAD is answered where GET is."""
        table = {route.method: route for route in routes}
        if "GET" in table:
            table |= {"HEAD": table["GET"]}  # type: ignore[dict-item]
        view = type("Endpoint", (cls,), {"routes": table, "http_method_names": [m.lower() for m in table]})
        public = all(route.scope is None for route in table.values())
        return view.as_view(authentication_classes=() if public else AUTHENTICATION)  # type: ignore[attr-defined, no-any-return]

    def answer(self, request: Request, *, id: UUID = _NO_JOB) -> HttpResponse:  # noqa: A002 - named as in the path
        """Checks what the route demands and lets it answer."""
        route = self.routes[request.method or ""]
        caller = NOBODY
        if route.scope:
            caller = cast(Caller, request.user)
            require(caller, route.scope)
        check_body(request, most=route.max_body_bytes)
        query = query_as(request, route.query or NoQuery, maps=route.maps)
        return route.handle(Call(request, caller, id, query))

    get = head = post = answer


def patterns(routes: Iterable[Route]) -> list[URLPattern]:
    """The URL patterns of a table of routes."""
    in_order = sorted(routes, key=_path)
    return [path(_django_path(where), Endpoint.of(group)) for where, group in groupby(in_order, key=_path)]


def _path(route: Route) -> str:
    return route.path


def _django_path(template: str) -> str:
    return template.removeprefix("/").replace("{id}", "<job_id:id>")
