"""Whatever goes wrong becomes a problem: in views, in Django itself, at unknown paths."""

import sys
from typing import Any, Final

from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse
from psycopg.errors import CheckViolation, IdleInTransactionSessionTimeout, ReadOnlySqlTransaction
from rest_framework import exceptions

from scrapejobs.gateway.problems import Problem

RETRY_AFTER_S: Final = 2
_ANOTHER_CONNECTION: Final = (ReadOnlySqlTransaction, IdleInTransactionSessionTimeout)
"""What was the primary no longer is, or this process stood still within a transaction."""


_NAMES: Final[tuple[tuple[tuple[type[Exception], ...], str], ...]] = (
    ((Http404, exceptions.NotFound), "not-found"),
    ((exceptions.MethodNotAllowed,), "method-not-allowed"),
    ((exceptions.UnsupportedMediaType,), "unsupported-media-type"),
    ((RequestDataTooBig,), "payload-too-large"),
    ((PermissionDenied,), "forbidden"),
    ((SuspiciousOperation, BadRequest, exceptions.ParseError), "bad-request"),
    ((OperationalError, InterfaceError), "unavailable"),
)
"""The first row that fits names the problem."""


def problem_of(error: BaseException | None) -> Problem | None:
    """The problem that an exception stands for; None when it is a bug."""
    if isinstance(error, Problem):
        return error
    if error is not None and isinstance(error.__cause__, _ANOTHER_CONNECTION):
        connection.close()
        return _unavailable()
    name = next((name for kinds, name in _NAMES if isinstance(error, kinds)), None)
    if error is not None and _has_no_partition(error.__cause__):
        name = "unavailable"
    if name is None:
        return None
    return _unavailable() if name == "unavailable" else Problem(name)


def _has_no_partition(cause: BaseException | None) -> bool:
    """Whether a row is of a day that has no partition: none were made ahead, or this machine's clock is days off.
    Postgres calls that a check that failed, without a constraint to name.
    """
    return isinstance(cause, CheckViolation) and cause.diag.constraint_name is None


def _unavailable() -> Problem:
    return Problem("unavailable", headers={"Retry-After": str(RETRY_AFTER_S)})


def exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse | None:  # noqa: ARG001 - DRF's form
    """DRF's hook. None lets a bug through to Django, which logs it and asks `server_error` for the answer."""
    problem = problem_of(error)
    return problem.answer() if problem else None


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - Django's form
    return (problem_of(exception) or Problem("bad-request")).answer()


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    return Problem("forbidden").answer()


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    return Problem("not-found").answer()


def server_error(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """What no view answered for, such as the admin's while Postgres is away: called while the error is handled."""
    return (problem_of(sys.exception()) or Problem("internal-error")).answer()
