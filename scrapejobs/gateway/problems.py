"""Every way a request can be refused: one table, one exception, one shape (RFC 9457)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import msgspec
from django.http import HttpResponse

PROBLEMS: Final[Mapping[str, tuple[HTTPStatus, str]]] = {
    "bad-host": (HTTPStatus.BAD_REQUEST, "This host name is not served here"),
    "bad-request": (HTTPStatus.BAD_REQUEST, "The request cannot be read"),
    "invalid-json": (HTTPStatus.BAD_REQUEST, "The body is not JSON"),
    "json-too-deep": (HTTPStatus.BAD_REQUEST, "The body is nested too deeply"),
    "invalid-request": (HTTPStatus.BAD_REQUEST, "The request is not valid"),
    "invalid-url": (HTTPStatus.BAD_REQUEST, "The URL is not valid"),
    "url-not-allowed": (HTTPStatus.BAD_REQUEST, "The URL may not be fetched"),
    "host-opted-out": (HTTPStatus.BAD_REQUEST, "The owner of the host does not want it to be fetched"),
    "header-not-allowed": (HTTPStatus.BAD_REQUEST, "A header may not be sent to the target"),
    "callback-not-allowed": (HTTPStatus.BAD_REQUEST, "The callback URL may not be called"),
    "invalid-idempotency-key": (HTTPStatus.BAD_REQUEST, "The Idempotency-Key is not valid"),
    "invalid-cursor": (HTTPStatus.BAD_REQUEST, "The cursor is not valid here"),
    "unauthenticated": (HTTPStatus.UNAUTHORIZED, "A valid key is needed"),
    "forbidden": (HTTPStatus.FORBIDDEN, "The key has not the scope for this"),
    "not-found": (HTTPStatus.NOT_FOUND, "There is no such thing here"),
    "method-not-allowed": (HTTPStatus.METHOD_NOT_ALLOWED, "The method is not served here"),
    "request-timeout": (HTTPStatus.REQUEST_TIMEOUT, "The request did not come in time"),
    "result-not-ready": (HTTPStatus.CONFLICT, "The job is not final yet"),
    "no-result": (HTTPStatus.CONFLICT, "The job ended without a result"),
    "already-final": (HTTPStatus.CONFLICT, "The job has already ended"),
    "not-failed": (HTTPStatus.CONFLICT, "Only a failed job can be requeued"),
    "secrets-erased": (HTTPStatus.CONFLICT, "The job's secrets are erased: hand it in anew"),
    "no-delivery": (HTTPStatus.CONFLICT, "No event of the job was sent: it has no callback, or has not ended"),
    "result-expired": (HTTPStatus.GONE, "The result is no longer kept"),
    "length-required": (HTTPStatus.LENGTH_REQUIRED, "The body needs a Content-Length"),
    "too-many-items": (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request holds too many jobs"),
    "payload-too-large": (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large"),
    "unsupported-media-type": (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body has to be JSON in UTF-8"),
    "idempotency-key-reused": (HTTPStatus.UNPROCESSABLE_ENTITY, "The Idempotency-Key stands for another request"),
    "quota-exceeded": (HTTPStatus.TOO_MANY_REQUESTS, "As many requests or jobs came as may"),
    "queue-full": (HTTPStatus.TOO_MANY_REQUESTS, "As many jobs wait as the tenant may have waiting"),
    "internal-error": (HTTPStatus.INTERNAL_SERVER_ERROR, "The service failed at this request"),
    "unavailable": (HTTPStatus.SERVICE_UNAVAILABLE, "The service cannot answer now"),
}
"""Name to status and title. A name is part of the contract: clients switch on it."""

MEDIA_TYPE: Final = "application/problem+json"
REFUSED: Final = "scrapejobs.refused"
"""Where in the environ a `Problem` is that was found before the application saw the request, for it to answer with."""


class Mistake(msgspec.Struct, frozen=True):
    """One mistake: a JSON pointer (RFC 6901) into the body, or `?name` of a query parameter."""

    pointer: str
    code: str
    detail: str


@dataclass(eq=False)
class Problem(Exception):  # noqa: N818 - RFC 9457 calls it so
    """A refusal. `name` is one of `PROBLEMS`; `detail` never quotes a secret of the request."""

    name: str
    detail: str = ""
    mistakes: Sequence[Mistake] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> HTTPStatus:
        return PROBLEMS[self.name][0]

    def body(self) -> dict[str, Any]:
        """The members of the problem object."""
        status, title = PROBLEMS[self.name]
        body: dict[str, Any] = {"type": f"/problems/{self.name}", "title": title, "status": status.value}
        if self.detail:
            body["detail"] = self.detail
        if self.mistakes:
            body["errors"] = list(self.mistakes)
        return body | dict(self.members)

    def answer(self) -> HttpResponse:
        """The problem as an HTTP answer."""
        return HttpResponse(
            msgspec.json.encode(self.body()),
            status=self.status.value,
            content_type=MEDIA_TYPE,
            headers={"Cache-Control": "no-store"} | dict(self.headers),
        )


def invalid(pointer: str, code: str, detail: str) -> Problem:
    """`invalid-request` with one mistake."""
    return Problem("invalid-request", detail, [Mistake(pointer, code, detail)])
