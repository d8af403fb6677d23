"""Through an HTTP proxy: it dials what the guard has judged, by its number, and looks nothing up (ADR-0028)."""

import asyncio
import base64
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from scrapejobs.adapters import guard
from scrapejobs.adapters.webhook_client import WebhookClient
from scrapejobs.domain.outcome import Permanent, Temporary
from scrapejobs.domain.proxy import EgressProxy
from tests.integration.fetching import LOOPBACK, failed, fetched, fetcher_with, lookup, redirect
from tests.integration.raw_target import RawTarget, raw_target, response

pytestmark = pytest.mark.req("NFR-11")


@dataclass
class Proxy:
    """A CONNECT proxy that notes what it is asked; `answer` other than None is said in place of its work."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    answer: bytes | None = None

    @property
    def asked(self) -> list[str]:
        return [head.split(" ")[1] for head in self.heads]

    def fetcher(self) -> Any:
        return fetcher_with(proxy=EgressProxy.of(f"http://127.0.0.9:{self.port}"))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            if self.answer is not None:
                writer.write(self.answer)
                await writer.drain()
            else:
                host, _, port = self.asked[-1].rpartition(":")
                their_reader, their_writer = await asyncio.open_connection(host, int(port))
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await asyncio.gather(_pass_on(reader, their_writer), _pass_on(their_reader, writer))
        writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while some := await reader.read(65536):
            writer.write(some)
            await writer.drain()
    writer.close()


@pytest.fixture
async def target() -> AsyncIterator[RawTarget]:
    async with raw_target() as running:
        running.answers["/"] = response(b"hello")
        yield running


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    proxy = Proxy()
    server = await asyncio.start_server(proxy.serve, "127.0.0.9", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    yield proxy
    server.close()


async def test_a_page_comes_through_the_proxy_that_is_told_the_judged_address(proxy: Proxy, target: RawTarget) -> None:
    outcome, body = await fetched(proxy.fetcher(), target.url("/", host="a.example"))
    assert body == b"hello"
    assert proxy.asked == [f"127.0.0.1:{target.port}"]
    assert target.requests[0].headers["host"] == f"a.example:{target.port}"
    assert outcome.exchange.address_family == "ipv4"
    assert list(outcome.exchange.timings) == ["dns", "connect", "headers", "body"]


async def test_each_redirect_is_judged_and_asked_for_anew(proxy: Proxy, target: RawTarget) -> None:
    target.answers["/go"] = redirect(target.url("/", host="a.example"))
    await fetched(proxy.fetcher(), target.url("/go"))
    assert proxy.asked == [f"127.0.0.1:{target.port}"] * 2


@pytest.mark.parametrize("host", ["inside.example", "mixed.example"])
async def test_the_proxy_is_not_asked_for_what_may_not_be_dialled(proxy: Proxy, target: RawTarget, host: str) -> None:
    target.answers["/go"] = redirect(f"http://{host}/")
    for url in (f"http://{host}/", target.url("/go")):
        outcome = await failed(proxy.fetcher(), url)
        assert (type(outcome), outcome.code) == (Permanent, "blocked_address")
    assert proxy.asked == [f"127.0.0.1:{target.port}"]


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://169.254.169.254/", "http://[::1]/"])
async def test_a_literal_that_is_denied_is_not_asked_for(proxy: Proxy, url: str) -> None:
    assert (await failed(proxy.fetcher(), url)).code == "blocked_address"
    assert proxy.heads == []


async def test_a_literal_that_is_denied_is_not_asked_for_at_the_dial(proxy: Proxy) -> None:
    """Past the parser, which refuses literals first: no resolver is asked about them."""
    connector = guard.guarded_connector(
        LOOPBACK,
        ssl_context=guard.tls_context(),
        dns_timeout_s=1.0,
        lookup=lookup,
        proxy=EgressProxy.of(f"http://127.0.0.9:{proxy.port}"),
    )
    async with aiohttp.ClientSession(connector=connector) as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get("http://10.0.0.1/")
    assert proxy.heads == []


async def test_tls_is_spoken_with_the_target_and_not_with_the_proxy(proxy: Proxy, target: RawTarget) -> None:
    outcome = await failed(proxy.fetcher(), f"https://a.example:{target.port}/")  # which speaks none
    assert proxy.asked == [f"127.0.0.1:{target.port}"]
    assert outcome.exchange is not None
    assert outcome.exchange.phase == "tls"


async def test_the_proxy_is_shown_the_password_that_the_operator_set(proxy: Proxy, target: RawTarget) -> None:
    signed_in = EgressProxy.of(f"http://us%40r:p%3Aw@127.0.0.9:{proxy.port}")
    await fetched(fetcher_with(proxy=signed_in), target.url("/"))
    assert f"Proxy-Authorization: Basic {base64.b64encode(b'us@r:p:w').decode()}\r\n" in proxy.heads[0]
    assert "proxy-authorization" not in target.requests[0].headers
    assert "Basic" not in repr(signed_in)


@pytest.mark.parametrize(
    ("answer", "class_", "code"),
    [
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", Permanent, "blocked_address"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", Temporary, "unreachable"),
        (b"HTTP/1.1 504 Gateway Timeout\r\n\r\n", Temporary, "unreachable"),
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", Temporary, "proxy_unavailable"),
        (b"HTTP/1.1 500 Oops\r\n\r\n", Temporary, "proxy_unavailable"),
        (b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nforged", Temporary, "proxy_unavailable"),
        (b"HTTP/1.1 200 OK\r\n", Temporary, "proxy_unavailable"),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", Temporary, "proxy_unavailable"),
        (b"", Temporary, "proxy_unavailable"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 20_000, Temporary, "proxy_unavailable"),
    ],
)
async def test_what_the_proxy_does_wrong_is_told_from_what_the_target_does(
    proxy: Proxy, target: RawTarget, answer: bytes, class_: type, code: str
) -> None:
    proxy.answer = answer
    outcome = await failed(proxy.fetcher(), target.url("/"))
    assert (type(outcome), outcome.code) == (class_, code)
    assert target.n_connections == 0


async def test_a_proxy_that_is_not_there_is_our_fault_and_nothing_is_dialled_directly(target: RawTarget) -> None:
    with socket.create_server(("127.0.0.9", 0)) as closed:
        port = closed.getsockname()[1]
    outcome = await failed(fetcher_with(proxy=EgressProxy.of(f"http://127.0.0.9:{port}")), target.url("/"))
    assert outcome.code == "proxy_unavailable"
    assert target.n_connections == 0


async def test_deliveries_go_through_it_too(proxy: Proxy, target: RawTarget) -> None:
    client = WebhookClient(
        LOOPBACK,
        dns_timeout_s=1.0,
        timeout_s=5.0,
        user_agent="test",
        lookup=lookup,
        proxy=EgressProxy.of(f"http://127.0.0.9:{proxy.port}"),
    )
    secret = "whsec_" + "c2VjcmV0" * 4
    answer = await client.post(target.url("/", host="a.example"), event_id="e", secrets=[secret], body=b"{}")
    assert answer.is_success
    assert proxy.asked == [f"127.0.0.1:{target.port}"]


@pytest.mark.parametrize(
    "url",
    ["", "proxy:3128", "https://proxy:3128", "socks5://proxy", "http://", "http://p:x", "http://p/path", "http://p?q"],
)
def test_what_is_no_proxy_is_refused_by_the_settings(url: str) -> None:
    with pytest.raises(ValueError, match="prox") as refused:
        EgressProxy.of(url)
    assert "3128" not in str(refused.value)
