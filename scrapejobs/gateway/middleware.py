"""What holds for every answer, whoever gives it: a known host, a path that can name something, and a request id."""

import re
import uuid
from collections.abc import Callable
from typing import Final

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

from scrapejobs.adapters.limiter import Allowance
from scrapejobs.gateway.limits import ALLOWANCE, headers_of
from scrapejobs.gateway.problems import REFUSED, Problem
from scrapejobs.store.connection import close_if_cut_off

REQUEST_ID: Final = "X-Request-Id"
_TOKEN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Envelope:
    """Outermost: a client's request id is kept if it is a plain token, else a new one is made (no log injection)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(REQUEST_ID, "")
        request_id = given if _TOKEN.fullmatch(given) else uuid.uuid4().hex
        request.META["scrapejobs.request_id"] = request_id
        close_if_cut_off()
        response = self._answer(request)
        response.headers[REQUEST_ID] = request_id
        allowance: Allowance | None = request.META.get(ALLOWANCE)
        if allowance is not None:
            for name, value in headers_of(allowance).items():
                response.headers[name] = value
        return response

    def _answer(self, request: HttpRequest) -> HttpResponse:
        refused = request.META.get(REFUSED) or _fault_of(request)
        return refused.answer() if refused else self._get_response(request)


def _fault_of(request: HttpRequest) -> Problem | None:
    """What is wrong with a request whatever it asks for."""
    meta = request.META
    if meta["REQUEST_METHOD"] != request.method:  # Django has made it upper case; RFC 9110, 9.1: it is another one
        return Problem("bad-request", "a method is written in upper case")
    if meta.get("SERVER_PROTOCOL") == "HTTP/1.1" and "HTTP_HOST" not in meta:  # RFC 9112, 3.2
        return Problem("bad-host", "a request of HTTP/1.1 names its host")
    try:
        request.get_host()
    except DisallowedHost:
        return Problem("bad-host")
    if not meta.get("QUERY_STRING", "").isascii():  # RFC 3986, 2.1
        return Problem("bad-request", "what is not ASCII is percent-encoded in a query")
    if "\0" in request.path:  # names no row, and Postgres takes no text with it
        return Problem("not-found")
    return None
