"""Judge an answer's head: is it HTTP, within the limits, a success, what the job expects."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

import aiohttp
import msgspec

from scrapejobs.adapters.fetch_errors import FetchFailed
from scrapejobs.domain.outcome import is_success
from scrapejobs.domain.redirect import REDIRECTS
from scrapejobs.domain.retry_after import parse_retry_after

_STATUSES = range(200, 600)
# An answer of this status makes sense only to a request that carried one of these headers.
_ASKED_FOR = {206: frozenset({"range"}), 304: frozenset({"if-none-match", "if-modified-since", "if-range"})}
_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a job says its answer must be; None and False mean no matter."""

    content_type: str | None = None
    min_bytes: int | None = None
    json: bool = False


def check_head(response: aiohttp.ClientResponse, *, asked: Mapping[str, str]) -> None:
    """Raise `FetchFailed` when no answer to this request may have this status (RFC 9110)."""
    if response.status not in _STATUSES:
        raise FetchFailed("protocol_error")
    needs = _ASKED_FOR.get(response.status)
    if needs is not None and needs.isdisjoint(name.lower() for name in asked):
        raise FetchFailed("protocol_error")


def is_taken(response: aiohttp.ClientResponse, accepted: frozenset[int], *, follow: bool) -> bool:
    """Whether the answer's status is one that the job takes for a success."""
    return is_success(response.status, accepted=accepted) or (response.status in REDIRECTS and not follow)


def refusal(response: aiohttp.ClientResponse) -> FetchFailed:
    """What to raise for an answer whose status is none of a success: `http_NNN`."""
    retry_after = response.headers.get("Retry-After")
    retry_after_s = None if retry_after is None else parse_retry_after(retry_after, now=datetime.now(UTC))
    return FetchFailed(f"http_{response.status}", retry_after_s=retry_after_s)


async def check_expectation(expect: Expectation, body: IO[bytes], *, size: int, content_type: str | None) -> None:
    """Raise `FetchFailed` with `unexpected_content` when the answer is not what the job expects."""
    if expect.content_type is not None and content_type != expect.content_type.strip().lower():
        raise FetchFailed("unexpected_content", detail=f"the job expects {expect.content_type}")
    if expect.min_bytes is not None and size < expect.min_bytes:
        raise FetchFailed("unexpected_content", detail=f"{size} of at least {expect.min_bytes} bytes")
    if expect.json and not await asyncio.to_thread(_is_json, body):
        raise FetchFailed("unexpected_content", detail="the body is not JSON")


def safe_headers(response: aiohttp.ClientResponse) -> tuple[tuple[str, str], ...]:
    """The headers as text that any store takes: neither NUL nor lone surrogates, which Postgres refuses."""
    return tuple((_safe(name), _safe(value)) for name, value in response.raw_headers)


def _safe(value: bytes) -> str:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def _is_json(body: IO[bytes]) -> bool:
    try:
        msgspec.json.decode(body.read(), type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    finally:
        body.seek(0)
    return True
