"""TLS: certificates that are not valid, and handshakes that hang or are no handshakes."""

import asyncio
import contextlib
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from scrapejobs.adapters.fetcher import Fetcher
from scrapejobs.domain.outcome import Permanent, Temporary
from tests.integration.fetching import (
    failed,
    fetched,
    fetcher_with,
)
from tests.integration.raw_target import reset, response


@pytest.mark.case("target-43")
async def test_a_self_signed_certificate_is_invalid(fetcher: Fetcher, tmp_path: Path) -> None:
    async with tls_target(tmp_path) as port:
        outcome = await failed(fetcher, f"https://127.0.0.1:{port}/")
    assert isinstance(outcome, Permanent)
    assert (outcome.code, outcome.phase) == ("tls_invalid", "tls")
    assert outcome.exchange.wire_requests == 0


@pytest.mark.case("target-43")
async def test_a_certificate_is_good_for_its_own_host_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with tls_target(tmp_path) as port:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))  # an authority that this machine trusts
        fetcher = fetcher_with()
        outcome, body = await fetched(fetcher, f"https://127.0.0.1:{port}/")
        wrong_host = await failed(fetcher, f"https://a.example:{port}/")
    assert body == b"over TLS"
    assert list(outcome.exchange.timings) == ["connect", "tls", "headers", "body"]
    assert (wrong_host.code, wrong_host.phase) == ("tls_invalid", "tls")


@asynccontextmanager
async def tls_target(directory: Path) -> AsyncIterator[int]:
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(directory / "key.pem"), "-out", str(directory / "cert.pem")]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names, *files]
    await asyncio.to_thread(subprocess.run, make, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "cert.pem", directory / "key.pem")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(response(b"over TLS"))
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.case("target-44")
async def test_a_tls_handshake_that_hangs_is_a_timeout_of_its_phase() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts, nobody answers
        port = silent.getsockname()[1]
        outcome = await failed(fetcher_with(connect_timeout_s=0.3), f"https://127.0.0.1:{port}/")
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.phase) == ("timeout", "tls")


@pytest.mark.case("target-44")
@pytest.mark.parametrize(
    ("said", "with_reset", "kind", "code"),
    [
        (b"", True, Temporary, "connection_reset"),
        (b"", False, Temporary, "connection_reset"),
        (b"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n", False, Permanent, "tls_failed"),
        (bytes(range(256)), False, Permanent, "tls_failed"),
        (b"\x15\x03\x03\x00\x02\x02\x28", False, Permanent, "tls_failed"),  # the alert handshake_failure
    ],
    ids=["reset", "closed", "plain-http", "junk", "alert"],
)
async def test_a_handshake_that_breaks_off_may_do_another_time_and_one_that_is_none_never(
    fetcher: Fetcher, *, said: bytes, with_reset: bool, kind: type, code: str
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(said)
        if with_reset:
            reset(writer)
        else:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        outcome = await failed(fetcher, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    assert (type(outcome), outcome.code, outcome.phase) == (kind, code, "tls")
    assert outcome.exchange is not None
    assert outcome.exchange.wire_requests == 0
