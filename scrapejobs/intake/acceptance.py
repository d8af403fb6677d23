"""From a job as handed in to a job that may be stored: targets judged, defaults filled in, caps held."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from msgspec import UNSET

from scrapejobs.domain.job import PRIORITIES
from scrapejobs.domain.target import (
    DEFAULT_PORTS,
    MAX_URL_CHARS,
    WEB_SCHEMES,
    InvalidUrl,
    Target,
    UrlNotAllowed,
    parse_target,
    with_query,
)
from scrapejobs.gateway.context import Context
from scrapejobs.gateway.problems import Mistake, Problem, invalid
from scrapejobs.intake.headers import check_headers
from scrapejobs.intake.requests import JobRequest, Params
from scrapejobs.store.sealing import keep_callback, keep_request
from scrapejobs.store.transitions import NewJob

_BODILESS: Final = frozenset({"GET", "HEAD"})
_HTTPS: Final = frozenset({"https"})


@dataclass(frozen=True, slots=True)
class Origin:
    """Who hands in, and under which Host header: a callback to the API itself would be a loop."""

    tenant_id: int
    api_host: str
    robots: bool = False  # whether the tenant's jobs obey robots.txt, all of them


def accept(request: JobRequest, *, job_id: UUID, origin: Origin, context: Context) -> NewJob:
    """The job to store. Raises `Problem` naming what is wrong."""
    target = _target(request.url, context)
    params, config = request.params, context.config
    check_headers(params.headers)
    _check_content(params)
    if len(with_query(target.url, params.query)) > MAX_URL_CHARS:
        raise invalid("/params/query", "value", f"the URL with its query is longer than {MAX_URL_CHARS} characters")
    kept = keep_request(context.ring, target.url, _stored(params, origin=origin, context=context), job_id=job_id)
    callback, callback_sealed = _callback(request, job_id=job_id, origin=origin, context=context)
    return NewJob(
        id=job_id,
        tenant_id=origin.tenant_id,
        priority=PRIORITIES.index(request.priority),
        url=kept.url,
        host=target.host_key,
        params=kept.params,
        sealed=kept.sealed,
        callback_url=callback,
        callback_sealed=callback_sealed,
        tags=request.tags,
        max_attempts=int(_capped("max_attempts", params.max_attempts, config.max_attempts, config.max_attempts_cap)),
        deadline_s=_capped("deadline_s", params.deadline_s, config.deadline_s, config.deadline_cap_s),
    )


def _stored(params: Params, *, origin: Origin, context: Context) -> dict[str, Any]:
    """All that the worker needs, so that it needs no defaults."""
    config = context.config
    return {
        "method": params.method,
        "headers": params.headers,
        "query": params.query,
        "timeout_s": _capped("timeout_s", params.timeout_s, config.timeout_s, config.timeout_cap_s),
        "max_bytes": int(_capped("max_bytes", params.max_bytes, config.max_bytes, config.max_bytes_cap)),
        "follow_redirects": params.follow_redirects,
        "accept_statuses": sorted(set(params.accept_statuses)),
        "retry_unsafe": params.retry_unsafe,
        "robots": params.robots or origin.robots or config.robots,
        "expect": None if params.expect is UNSET else msgspec.to_builtins(params.expect),
        "body": None if params.body is UNSET else params.body,
        "json": None if params.json is UNSET else {"value": params.json},  # `null` is a value too
    }


def _target(url: str, context: Context) -> Target:
    try:
        return parse_target(url, policy=context.policy)
    except InvalidUrl as error:
        raise Problem("invalid-url", str(error), [Mistake("/url", "value", str(error))]) from None
    except UrlNotAllowed as error:
        raise Problem("url-not-allowed", str(error), [Mistake("/url", error.reason, str(error))]) from None


def _check_content(params: Params) -> None:
    if params.body is not UNSET and params.json is not UNSET:
        raise invalid("/params/json", "value", "`body` and `json` exclude each other")
    if params.method in _BODILESS and (params.body is not UNSET or params.json is not UNSET):
        raise invalid("/params/method", "value", f"a {params.method} request carries no body (RFC 9110, 9.3.1)")


def _capped(name: str, given: Any, default: float, cap: float) -> float:
    """What was given or the default; a default above the cap is the cap. Raises `Problem` for more than the cap."""
    if given is UNSET:
        return min(default, cap)
    if given > cap:
        raise invalid(f"/params/{name}", "value", f"no more than {cap:g}")
    return float(given)


def _callback(
    request: JobRequest, *, job_id: UUID, origin: Origin, context: Context
) -> tuple[str | None, bytes | None]:
    if request.callback_url is UNSET:
        return None, None
    schemes = WEB_SCHEMES if context.config.callback_allow_http else _HTTPS
    try:
        target = parse_target(request.callback_url, policy=context.policy, schemes=schemes)
    except (InvalidUrl, UrlNotAllowed) as error:
        raise _bad_callback(str(error)) from None
    own = {_place(f"//{origin.api_host}"), _place(context.config.api_url or "")}
    if (target.host, target.port) in own or (target.host, None) in own:
        raise _bad_callback("the API cannot be its own receiver")
    return keep_callback(context.ring, target.url, job_id=job_id)


def _place(url: str) -> tuple[str, int | None]:
    """Host and port; no port when neither it nor a scheme is named."""
    parts = urlsplit(url)
    return (parts.hostname or "").rstrip("."), parts.port or DEFAULT_PORTS.get(parts.scheme)


def _bad_callback(detail: str) -> Problem:
    return Problem("callback-not-allowed", detail, [Mistake("/callback_url", "value", detail)])
