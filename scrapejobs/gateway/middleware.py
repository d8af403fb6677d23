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
        response = self._answer(request)
        response.headers[REQUEST_ID] = request_id
        allowance: Allowance | None = request.META.get(ALLOWANCE)
        if allowance is not None:
            for name, value in headers_of(allowance).items():
                response.headers[name] = value
        return response

    def _answer(self, request: HttpRequest) -> HttpResponse:
        refused: Problem | None = request.META.get(REFUSED)
        if refused is not None:
            return refused.answer()
        try:
            request.get_host()
        except DisallowedHost:
            return Problem("bad-host").answer()
        if "\0" in request.path:  # names no row, and Postgres takes no text with it
            return Problem("not-found").answer()
        return self._get_response(request)
