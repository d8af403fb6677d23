"""A session for each fetch, over one connector that keeps nothing: no cookie and no connection of one job reaches
another.
"""

from collections.abc import Callable

import aiohttp

from scrapejobs.adapters import guard
from scrapejobs.adapters.http1 import HeaderLimits
from scrapejobs.adapters.strict import read_strictly


class Sessions:
    """Opens sessions. The connector is made when the first is, inside the event loop."""

    def __init__(
        self, connector: Callable[[], aiohttp.TCPConnector], *, limits: HeaderLimits, connect_timeout_s: float
    ) -> None:
        self._new_connector = connector
        self._limits = limits
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout_s)
        self._traces = _traces()
        self._connector: aiohttp.TCPConnector | None = None

    def open(self) -> aiohttp.ClientSession:
        """A session to be closed after one fetch. It reads strictly, decodes nothing and sends a request once."""
        if self._connector is None:
            self._connector = self._new_connector()
            read_strictly(self._connector, self._limits)
        return aiohttp.ClientSession(
            connector=self._connector,
            connector_owner=False,
            # The jar lives as long as the job's fetch: cookies of address hosts can be kept too.
            cookie_jar=aiohttp.CookieJar(unsafe=True, quote_cookie=False),
            timeout=self._timeout,
            auto_decompress=False,
            requote_redirect_url=False,
            trust_env=False,
            skip_auto_headers=("Content-Type",),
            trace_configs=[self._traces],
            middlewares=[_once],
        )


class _Cut(aiohttp.ClientError):
    """The connection ended before the answer did."""


async def _once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Sends a request once. When its connection is cut, aiohttp would send a GET, PUT or DELETE again by itself: the
    target would see more requests than the history tells and its rate allows (P4, NFR-6).
    """
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _Cut from error


def _traces() -> aiohttp.TraceConfig:
    async def connected(*_: object) -> None:
        guard.note_connected()

    async def sent(*_: object) -> None:
        guard.note_request()

    traces = aiohttp.TraceConfig()
    traces.on_connection_create_end.append(connected)
    traces.on_request_headers_sent.append(sent)
    return traces
