"""The only way out to addresses that users name: every look-up and every dial is judged (NFR-11).

A name is resolved once; the checked addresses are the dialled ones, and one refused address refuses the whole
answer. The socket factory is the last gate: it also sees literal addresses, which no resolver is asked about.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from ipaddress import IPv4Address, ip_address
from typing import Any, Literal

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from scrapejobs.adapters.egress_proxy import ProxiedConnector
from scrapejobs.adapters.lookup_threads import LookupThreads
from scrapejobs.domain.addresses import Address, EgressPolicy, Verdict
from scrapejobs.domain.outcome import Exchange, Hop, Phase
from scrapejobs.domain.proxy import EgressProxy

Lookup = Callable[[str], Awaitable[list[Address]]]
"""All addresses of a name. Raises `NameNotFound`, or `LookupFailed` when another try may find it."""

_NOT_FOUND = frozenset({socket.EAI_NONAME, socket.EAI_NODATA, socket.EAI_FAMILY})


class BlockedAddress(OSError):  # noqa: N818 - says what it is
    """The policy refuses an address that was to be dialled."""


class NameNotFound(OSError):  # noqa: N818
    """The name does not exist or has no address."""


class LookupFailed(OSError):  # noqa: N818
    """The name could not be looked up now."""


class Dial:
    """What one attempt's connections have come to, noted by the guard and the fetcher."""

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self.phase: Phase = "dns"
        self.evidence = ""
        self._spent: dict[str, float] = {}
        self._entered_at: float | None = None
        self.blocked: Verdict | None = None
        self.family: Literal["ipv4", "ipv6"] | None = None
        self.address: str | None = None
        self.status: int | None = None
        self.bytes_read = 0
        self.wire_requests = 0
        self.redirects: list[Hop] = []
        self.asks = False  # for a permit: nothing is sent meanwhile

    def enter(self, phase: Phase) -> None:
        """Note that a phase begins, and so that the one before is over."""
        self.leave()
        self.phase, self._entered_at = phase, self.elapsed_s

    def leave(self) -> None:
        """Note that the phase is over and none has begun."""
        if self._entered_at is not None:
            self._spent[self.phase] = self._spent.get(self.phase, 0.0) + self.elapsed_s - self._entered_at
            self._entered_at = None

    def exchange(self) -> Exchange:
        """What was noted up to now, for the history. The phase under way is over with it."""
        self.leave()
        return Exchange(
            phase=self.phase,
            elapsed_s=self.elapsed_s,
            target_status=self.status,
            bytes_read=self.bytes_read,
            address_family=self.family,
            address=self.address,
            redirects=tuple(self.redirects),
            wire_requests=self.wire_requests,
            timings=dict(self._spent),
            evidence=self.evidence,
        )

    @property
    def elapsed_s(self) -> float:
        """Seconds since the attempt began, by the monotonic clock."""
        return time.monotonic() - self.started_at


_dial: ContextVar[Dial | None] = ContextVar("dial", default=None)


@contextmanager
def dialling() -> Iterator[Dial]:
    """Note every connection made in this context on the `Dial` given."""
    dial = Dial()
    token = _dial.set(dial)
    try:
        yield dial
    finally:
        _dial.reset(token)


def guarded_connector(
    policy: EgressPolicy,
    *,
    ssl_context: ssl.SSLContext,
    dns_timeout_s: float,
    lookup: Lookup | None = None,
    proxy: EgressProxy | None = None,
) -> aiohttp.TCPConnector:
    """A connector that dials what the policy allows and nothing else, itself or through the proxy, once for each
    request: connections are not kept, so none can have gone stale.
    """
    options: dict[str, Any] = {
        "resolver": GuardedResolver(policy, lookup=lookup or system_lookup, timeout_s=dns_timeout_s),
        "socket_factory": guarded_socket_factory(policy),
        "ssl": ssl_context,
        "family": socket.AF_UNSPEC,
        "use_dns_cache": False,
        "force_close": True,
        "limit": 0,
    }
    if proxy is not None:
        return ProxiedConnector(proxy, gate=last_gate(policy), **options)
    return aiohttp.TCPConnector(**options)


def last_gate(policy: EgressPolicy) -> Callable[[Any], None]:
    """Judges every address right before it is dialled: raises `BlockedAddress` for one that may not be."""

    def judge(addr_info: Any) -> None:
        address, port = ip_address(addr_info[4][0]), addr_info[4][1]
        _judge(address, port, policy=policy)
        _enter("connect")
        if (dial := _dial.get()) is not None:
            dial.family, dial.address = "ipv4" if isinstance(address, IPv4Address) else "ipv6", str(address)

    return judge


def guarded_socket_factory(policy: EgressPolicy) -> Callable[[Any], socket.socket]:
    """Opens sockets behind the last gate."""
    judge = last_gate(policy)

    def open_socket(addr_info: Any) -> socket.socket:
        family, kind, proto, *_ = addr_info
        judge(addr_info)
        return socket.socket(family, kind, proto)

    return open_socket


class GuardedResolver(AbstractResolver):
    """Looks a name up and judges all of its addresses: one that is refused refuses the answer."""

    def __init__(self, policy: EgressPolicy, *, lookup: Lookup, timeout_s: float) -> None:
        self._policy = policy
        self._lookup = lookup
        self._timeout_s = timeout_s

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses to dial. Raises `BlockedAddress`, `NameNotFound` or `LookupFailed`."""
        del family  # both, always
        _enter("dns")
        try:
            async with asyncio.timeout(self._timeout_s):
                addresses = await self._lookup(host)
        except TimeoutError:
            raise LookupFailed("the look-up took too long") from None
        if not addresses:
            raise NameNotFound("the name has no address")
        for address in addresses:
            _judge(address, port, policy=self._policy)
        return [_resolved(address, host=host, port=port) for address in addresses]

    async def close(self) -> None:
        """Nothing is held."""


async def system_lookup(host: str) -> list[Address]:
    """Ask the system's resolver, in a thread of its own (`Lookup`)."""
    try:
        infos = await _threads.run(partial(_getaddrinfo, host))
    except socket.gaierror as error:
        if error.errno in _NOT_FOUND:
            raise NameNotFound("no such name") from None
        raise LookupFailed("the resolver failed") from None
    except UnicodeError:
        raise NameNotFound("not a name") from None
    return [ip_address(sockaddr[0]) for *_, sockaddr in infos]


_threads = LookupThreads()


class NotedTlsContext(ssl.SSLContext):
    """A TLS context that notes when a handshake begins: aiohttp's own traces do not tell it from the dial."""

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """As the base class."""
        _enter("tls")
        return super().wrap_bio(*args, **kwargs)


def tls_context() -> NotedTlsContext:
    """TLS for targets: the system's authorities, names checked. Slow to make: one for each process."""
    context = NotedTlsContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _judge(address: Address, port: int, *, policy: EgressPolicy) -> None:
    verdict = policy.verdict(address, port)
    if verdict is Verdict.ALLOW:
        return
    # aiohttp merges the errors of several addresses into one plain OSError: the note alone survives.
    if (dial := _dial.get()) is not None:
        dial.blocked = verdict
    raise BlockedAddress(f"the address may not be fetched ({verdict})")


def note_connected() -> None:
    """The connection stands, and a request is about to be sent over it."""
    _enter("headers")


def _enter(phase: Phase) -> None:
    if (dial := _dial.get()) is not None:
        dial.enter(phase)


def note_request() -> None:
    """A request was sent."""
    if (dial := _dial.get()) is not None:
        dial.wire_requests += 1


def _getaddrinfo(host: str) -> list[Any]:
    return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)


def _resolved(address: Address, *, host: str, port: int) -> ResolveResult:
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=family,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
