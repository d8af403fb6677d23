"""What went wrong on the wire, told by the type of the exception and by what the guard noted.

aiohttp's numbers and texts are not the target's: a protocol error carries a status 400 of aiohttp's own making, and
texts quote the peer's bytes. Neither leaves this module.
"""

import errno
import ssl
from collections.abc import Iterator

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from scrapejobs.adapters.decoding import BodyCorrupt, BodyTruncated
from scrapejobs.adapters.egress_proxy import ProxyFoundNoWay, ProxyRefused, ProxyUnavailable
from scrapejobs.adapters.guard import Dial, LookupFailed, NameNotFound
from scrapejobs.adapters.http1 import HeadersTooLarge, NotHttp, ProtocolError
from scrapejobs.adapters.spool import TooLarge
from scrapejobs.domain.outcome import Failure, failure


class FetchFailed(Exception):  # noqa: N818 - says what it is
    """The fetch ends with this failure code; caught by the fetcher, never seen outside it."""

    def __init__(self, code: str, *, detail: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.retry_after_s = retry_after_s


WIRE_ERRORS = (
    *(FetchFailed, TimeoutError, aiohttp.ClientError, OSError, TooLarge, BodyTruncated, BodyCorrupt),
    *(NotHttp, ProtocolError, HeadersTooLarge),
)
"""What a fetch may meet outside; anything else is a bug of ours and goes on as an exception."""

_BY_TYPE: tuple[tuple[type[BaseException], str], ...] = (
    (TooLarge, "body_too_large"),
    (BodyTruncated, "body_incomplete"),
    (BodyCorrupt, "body_corrupt"),
    (NameNotFound, "dns_not_found"),
    (ProxyUnavailable, "proxy_unavailable"),
    (ProxyRefused, "blocked_address"),
    (ProxyFoundNoWay, "unreachable"),
    (LookupFailed, "dns_temporary"),
    (TimeoutError, "timeout"),
    (ssl.SSLCertVerificationError, "tls_invalid"),
    (ssl.CertificateError, "tls_invalid"),
    (ssl.SSLError, "tls_failed"),
    (aiohttp.InvalidURL, "invalid_url"),
    (ConnectionRefusedError, "connection_refused"),
    (ConnectionError, "connection_reset"),  # reset, aborted, broken pipe
    (HeadersTooLarge, "headers_too_large"),
    (NotHttp, "not_http"),
    (ProtocolError, "protocol_error"),
    (HttpProcessingError, "protocol_error"),
    (aiohttp.ServerDisconnectedError, "disconnected"),
    (aiohttp.ClientPayloadError, "body_incomplete"),
)
_BY_ERRNO = {
    errno.ECONNREFUSED: "connection_refused",
    errno.ECONNRESET: "connection_reset",
    errno.EPIPE: "connection_reset",
    errno.ENETUNREACH: "unreachable",
    errno.EHOSTUNREACH: "unreachable",
    errno.ETIMEDOUT: "timeout",
    errno.EMFILE: "worker_error",
    errno.ENFILE: "worker_error",
    errno.ENOSPC: "worker_error",
}


def failure_of(error: BaseException, dial: Dial) -> Failure:
    """The failure that an exception of `WIRE_ERRORS` means."""
    if dial.blocked is not None:
        return failure("blocked_address", phase=dial.phase, exchange=dial.exchange())
    if isinstance(error, FetchFailed):
        code, detail, retry_after_s = error.code, error.detail, error.retry_after_s
    else:
        code, detail, retry_after_s = "no_permit" if dial.asks else _code_of(error), "", None
    return failure(code, detail=detail, phase=dial.phase, retry_after_s=retry_after_s, exchange=dial.exchange())


def _code_of(error: BaseException) -> str:
    # The root of the chain knows best: a wrapper's type says only where it was wrapped.
    for cause in reversed(list(_causes(error))):
        for kind, code in _BY_TYPE:
            if isinstance(cause, kind):
                return code
        if isinstance(cause, OSError) and cause.errno in _BY_ERRNO:
            return _BY_ERRNO[cause.errno]
    if isinstance(error, aiohttp.ClientConnectorError):
        return "unreachable"
    return "disconnected" if isinstance(error, aiohttp.ClientError) else "worker_error"


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    for _ in range(8):
        if seen is None:
            return
        yield seen
        os_error = getattr(seen, "os_error", None)  # aiohttp keeps the connection's error here
        seen = os_error if isinstance(os_error, BaseException) else seen.__cause__
