"""An HTTP proxy as the way out (ADR-0028).

The guard stays the judge. The name is looked up here, once, and the proxy is asked to CONNECT to the very address that
was judged, by its number, for http as for https: there is nothing left for it to look up.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final

import aiohttp

from scrapejobs.domain.proxy import EgressProxy

MAX_ANSWER_BYTES: Final = 8192
_STATUS_DIGITS: Final = slice(9, 12)  # of "HTTP/1.1 200 ..."


class ProxyUnavailable(OSError):  # noqa: N818 - says what it is
    """The proxy cannot be reached, or does not do what it is there for."""


class ProxyRefused(OSError):  # noqa: N818
    """The proxy may not dial the address (403)."""


class ProxyFoundNoWay(OSError):  # noqa: N818
    """The proxy could not reach the address (a 5xx of its own)."""


class ProxiedConnector(aiohttp.TCPConnector):
    """Dials through a proxy. `gate` raises for what may not be dialled; it is asked before each CONNECT."""

    def __init__(self, proxy: EgressProxy, *, gate: Callable[[Any], None], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._proxy = proxy
        self._gate = gate

    async def _wrap_create_connection(  # the one place where aiohttp dials
        self,
        *args: Any,
        addr_infos: list[Any],
        req: aiohttp.ClientRequest,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - as the base class
        client_error: type[Exception] = aiohttp.ClientConnectorError,
        **kwargs: Any,
    ) -> Any:
        try:
            self._gate(addr_infos[0])
            async with asyncio.timeout(timeout.sock_connect):
                sock = await self._tunnel(*addr_infos[0][4][:2])
        except TimeoutError:
            raise
        except OSError as error:
            raise client_error(req.connection_key, error) from error
        return await self._wrap_existing_connection(
            *args, req=req, timeout=timeout, client_error=client_error, sock=sock, **kwargs
        )

    async def _tunnel(self, address: str, port: int) -> socket.socket:
        """A socket of the proxy's whose bytes go to the address. Raises one of the three errors above."""
        sock = await self._dialled()
        try:
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(sock, self._proxy.request(address, port))
            _judge(await _answer(sock))
        except (ProxyUnavailable, ProxyRefused, ProxyFoundNoWay):
            sock.close()
            raise
        except OSError:
            sock.close()
            raise ProxyUnavailable("the proxy cut the connection") from None
        except BaseException:
            sock.close()
            raise
        return sock

    async def _dialled(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        try:
            infos = await loop.getaddrinfo(self._proxy.host, self._proxy.port, type=socket.SOCK_STREAM)
        except OSError:
            raise ProxyUnavailable("the proxy's name is not found") from None
        for family, kind, proto, _, sockaddr in infos:
            sock = socket.socket(family, kind, proto)
            sock.setblocking(False)
            try:
                await loop.sock_connect(sock, sockaddr)
            except OSError:
                sock.close()
            except BaseException:
                sock.close()
                raise
            else:
                return sock
        raise ProxyUnavailable("the proxy cannot be reached")


async def _answer(sock: socket.socket) -> bytes:
    """The head of the proxy's answer. Nothing of what follows is taken: the client speaks first through a tunnel."""
    loop, head = asyncio.get_running_loop(), b""
    while b"\r\n\r\n" not in head:
        some = await loop.sock_recv(sock, MAX_ANSWER_BYTES)
        head += some
        if not some or len(head) > MAX_ANSWER_BYTES:
            raise ProxyUnavailable("the proxy's answer cannot be read")
    return head


def _judge(head: bytes) -> None:
    status = head[_STATUS_DIGITS]
    if not head.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")) or not status.isdigit():
        raise ProxyUnavailable("the proxy does not speak HTTP")
    if status.startswith(b"2"):
        if not head.endswith(b"\r\n\r\n"):
            raise ProxyUnavailable("the proxy speaks before it is asked")
    elif status == b"403":
        raise ProxyRefused("the proxy may not dial the address")
    elif status in {b"502", b"503", b"504"}:
        raise ProxyFoundNoWay("the proxy found no way to the address")
    else:
        raise ProxyUnavailable(f"the proxy answered {status.decode('ascii')}")
