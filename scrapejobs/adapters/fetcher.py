"""Fetch one target: redirects by hand, every hop judged like a new URL, the body streamed into a spool.

Each fetch has a session and a cookie jar of its own (`sessions`): nothing of one job can reach another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import IO, Literal

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from scrapejobs.adapters import guard, robots
from scrapejobs.adapters.answer import Expectation, check_expectation, check_head, is_taken, refusal, safe_headers
from scrapejobs.adapters.body import receive
from scrapejobs.adapters.evidence import first_bytes
from scrapejobs.adapters.fetch_errors import WIRE_ERRORS, FetchFailed, failure_of
from scrapejobs.adapters.guard import Dial, Lookup, dialling
from scrapejobs.adapters.leave import Leave, Permit, everywhere
from scrapejobs.adapters.robots import Robots
from scrapejobs.adapters.sessions import Sessions
from scrapejobs.adapters.spool import Spool
from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.content_type import MARK_BYTES, charset_of_mark, parse_content_type
from scrapejobs.domain.evidence import READ_BYTES, evidence_of, secrets_of
from scrapejobs.domain.masking import masked_hop
from scrapejobs.domain.outcome import Exchange, Hop, Permanent, Temporary
from scrapejobs.domain.proxy import EgressProxy
from scrapejobs.domain.redirect import REDIRECTS, follow_location, next_method
from scrapejobs.domain.target import InvalidUrl, Target, UrlNotAllowed, parse_target, with_query

MIB = 1024 * 1024

OptedOut = Callable[[str], Awaitable[bool]]
"""Whether the owner of that host does not want it to be fetched."""


async def nobody(_: str) -> bool:
    """No host has opted out."""
    return False


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What the operator sets for every fetch of this process. Seconds and bytes."""

    policy: EgressPolicy
    proxy: EgressProxy | None = None
    dns_timeout_s: float = 5.0
    connect_timeout_s: float = 10.0  # dial and TLS handshake, for each address
    max_redirects: int = 10
    max_header_bytes: int = 64 * 1024
    max_headers: int = 256
    max_headers_bytes: int = 256 * 1024
    min_rate_bytes_s: float = 1024.0
    min_rate_after_s: float = 10.0
    user_agent: str = "scrapejobs"


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What a job asks for. `timeout_s` holds the whole attempt, redirects included; `max_bytes` the decoded body."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_s: float = 60.0
    max_bytes: int = 20 * MIB
    follow_redirects: bool = True
    accept_statuses: frozenset[int] = frozenset()
    expect: Expectation | None = None
    max_redirects: int = 50
    """At most; what the operator set may be less."""
    cut: bool = False
    """Whether of a body above `max_bytes` the beginning is taken, rather than nothing."""
    robots: bool = False
    """Whether the robots.txt of each host on the way is asked first."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole answer. `body` is rewound and the caller's to close; `headers` can be stored anywhere. `charset` is what
    a byte order mark or else the header says: a guess, for nothing here decodes text.
    """

    body: IO[bytes]
    size: int
    sha256: str
    content_type: str | None
    charset: str | None
    headers: tuple[tuple[str, str], ...]
    final_url: str
    status: int
    complete: Literal["yes", "unknown"]
    flags: tuple[str, ...]
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class _Ask:
    """One request of the chain."""

    target: Target
    method: str
    headers: Mapping[str, str]
    body: bytes | None


class Fetcher:
    """Fetches targets within limits; made once for each process, inside its event loop or before it."""

    def __init__(
        self,
        limits: FetchLimits,
        *,
        lookup: Lookup | None = None,
        is_opted_out: OptedOut = nobody,
        robots: Robots | None = None,
    ) -> None:
        """`robots`: needed by requests that obey it."""
        self._limits = limits
        self._robots = robots
        self._is_opted_out = is_opted_out
        connector = partial(
            guard.guarded_connector,
            limits.policy,
            ssl_context=guard.tls_context(),
            dns_timeout_s=limits.dns_timeout_s,
            lookup=lookup,
            proxy=limits.proxy,
        )
        self._sessions = Sessions(connector, limits=limits, connect_timeout_s=limits.connect_timeout_s)

    async def fetch(
        self, request: FetchRequest, *, permit: Permit = everywhere, send_by: float = inf
    ) -> Fetched | Temporary | Permanent:
        """Fetch once. Every end that the outside can bring about is a value; exceptions are bugs or cancellation.

        No request but the first is sent before `permit` has returned; nor is the first one after `send_by`, a time of
        the event loop's clock.
        """
        return await self._attempt(request, Leave(permit, send_by=send_by))

    async def _attempt(self, request: FetchRequest, leave: Leave) -> Fetched | Temporary | Permanent:
        spool = Spool(max_bytes=request.max_bytes)
        with dialling() as dial:
            try:
                async with asyncio.timeout(request.timeout_s), self._sessions.open() as session:
                    return await self._follow(session, request, spool=spool, dial=dial, leave=leave)
            except WIRE_ERRORS as error:
                spool.close()
                return failure_of(error, dial)
            except BaseException:
                spool.close()
                raise

    async def _follow(
        self, session: aiohttp.ClientSession, request: FetchRequest, *, spool: Spool, dial: Dial, leave: Leave
    ) -> Fetched:
        url = with_query(request.url, request.query)
        ask = _Ask(self._parse(url, invalid="invalid_url"), request.method, request.headers, request.body)
        while True:
            if await self._is_opted_out(ask.target.host_key):
                raise FetchFailed("host_opted_out")
            if request.robots:
                await self._obey_robots(request, ask, dial=dial, leave=leave)
            await leave.obtain(ask.target.host_key, dial=dial)
            leave.use()
            async with await self._send(session, ask) as response:
                dial.status = response.status
                check_head(response, asked=ask.headers)
                if not _is_redirect(response.status, request):
                    return await self._take(response, request, ask=ask, spool=spool, dial=dial)
                dial.redirects.append(Hop(masked_hop(ask.target.url), response.status))
                if len(dial.redirects) > min(request.max_redirects, self._limits.max_redirects):
                    raise FetchFailed("too_many_redirects")
                ask = self._next(ask, response)
                dial.status = None

    async def _obey_robots(self, request: FetchRequest, ask: _Ask, *, dial: Dial, leave: Leave) -> None:
        """Raises `FetchFailed` unless the host lets this be fetched. Its robots.txt is a request like any other: it has
        a leave of its own and is counted.
        """
        if self._robots is None:
            raise ValueError("robots.txt is to be obeyed and cannot be read")

        async def get(url: str) -> Fetched | Temporary | Permanent:
            asked = FetchRequest(
                url,
                timeout_s=request.timeout_s,
                max_bytes=robots.MAX_BYTES,
                max_redirects=robots.MAX_REDIRECTS,
                cut=True,
            )
            answer = await self._attempt(asked, leave)
            dial.wire_requests += answer.exchange.wire_requests if answer.exchange else 0
            return answer

        agent = next((value for name, value in ask.headers.items() if name.lower() == "user-agent"), None)
        ready = partial(leave.obtain, ask.target.host_key, dial=dial)
        await self._robots.check(ask.target, agent or self._limits.user_agent, ready=ready, get=get)

    async def _send(self, session: aiohttp.ClientSession, ask: _Ask) -> aiohttp.ClientResponse:
        own = {"User-Agent": self._limits.user_agent, "Accept": "*/*", "Accept-Encoding": "gzip, deflate, br, zstd"}
        headers: CIMultiDict[str] = CIMultiDict(own)
        headers.update(ask.headers)
        return await session.request(
            ask.method,
            URL(ask.target.url, encoded=True),
            headers=headers,
            data=ask.body,
            allow_redirects=False,
        )

    async def _take(
        self, response: aiohttp.ClientResponse, request: FetchRequest, *, ask: _Ask, spool: Spool, dial: Dial
    ) -> Fetched:
        if not is_taken(response, request.accept_statuses, follow=request.follow_redirects):
            seen = await first_bytes(response, remaining_s=request.timeout_s - dial.elapsed_s)
            dial.evidence = _evidence(seen, request)
            raise refusal(response)
        decoder = await receive(
            response, spool=spool, dial=dial, limits=self._limits, max_bytes=request.max_bytes, cut=request.cut
        )
        body = await spool.finish()
        content_type, charset = parse_content_type(response.headers.get("Content-Type", ""))
        marked = charset_of_mark(body.read(MARK_BYTES))
        body.seek(0)
        if request.expect is not None:
            dial.evidence = _evidence(body.read(READ_BYTES), request)
            body.seek(0)
            await check_expectation(request.expect, body, size=spool.size, content_type=content_type)
            dial.evidence = ""
        has_end = decoder.proves_end or _is_framed(response)
        return Fetched(
            body=body,
            size=spool.size,
            sha256=spool.sha256(),
            content_type=content_type,
            charset=marked or charset,
            headers=safe_headers(response),
            final_url=ask.target.url,
            status=response.status,
            complete="yes" if has_end else "unknown",
            flags=decoder.flags if spool.size else (*decoder.flags, "empty"),
            exchange=dial.exchange(),
        )

    def _next(self, ask: _Ask, response: aiohttp.ClientResponse) -> _Ask:
        locations = [value for name, value in response.raw_headers if name.lower() == b"location"]
        if len(locations) != 1:
            raise FetchFailed("redirect_invalid")
        try:
            url = follow_location(ask.target, locations[0])
        except InvalidUrl:
            raise FetchFailed("redirect_invalid") from None
        target = self._parse(url, invalid="redirect_invalid")
        method = next_method(ask.method, response.status)
        following = replace(ask, target=target, method=method)
        if method != ask.method:
            following = replace(following, body=None, headers=_without_content(following.headers))
        if target.origin != ask.target.origin:
            following = replace(following, headers=_content_only(following))
        return following

    def _parse(self, url: str, *, invalid: str) -> Target:
        try:
            return parse_target(url, policy=self._limits.policy)
        except InvalidUrl:
            raise FetchFailed(invalid) from None
        except UrlNotAllowed as error:
            raise FetchFailed(f"blocked_{error.reason}") from None


def _evidence(seen: bytes, request: FetchRequest) -> str:
    secrets = secrets_of(request.url, headers=request.headers, query=request.query)
    return evidence_of(seen, secrets=secrets, sent=request.body or b"")


def _is_redirect(status: int, request: FetchRequest) -> bool:
    return request.follow_redirects and status in REDIRECTS and status not in request.accept_statuses


def _is_framed(response: aiohttp.ClientResponse) -> bool:
    """Whether HTTP itself says where the body ends."""
    headers = response.headers
    has_no_body = response.method == "HEAD" or response.status in {204, 304}
    return has_no_body or "Content-Length" in headers or "Transfer-Encoding" in headers


def _without_content(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if not name.lower().startswith("content-")}


def _content_only(ask: _Ask) -> dict[str, str]:
    """No header of the job crosses an origin, but for what says how to read the body that is sent again."""
    if ask.body is None:
        return {}
    return {name: value for name, value in ask.headers.items() if name.lower() == "content-type"}
