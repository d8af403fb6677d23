"""Bodies: too slow, too large, of no known length, coded, and of every kind of bytes."""

import asyncio
import gzip
import hashlib
import resource

import pytest

from scrapejobs.adapters.fetcher import Fetcher
from scrapejobs.domain.outcome import Permanent, Temporary
from tests.integration.fetching import (
    AS_GZIP,
    GZIP,
    HELLO,
    NO_LENGTH,
    failed,
    fetched,
    fetcher_with,
    head,
    then,
)
from tests.integration.raw_target import RawTarget, Request, response


@pytest.mark.case("target-7")
async def test_a_body_below_the_minimum_rate_is_too_slow(target: RawTarget) -> None:
    target.answers["/"] = then(NO_LENGTH, drip=b"x", every_s=0.05)
    outcome = await failed(fetcher_with(min_rate_after_s=0.2), target.url("/"), timeout_s=20)
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.phase) == ("too_slow", "body")
    assert outcome.exchange.elapsed_s < 2


@pytest.mark.case("target-7")
async def test_an_operator_may_switch_the_minimum_rate_off(target: RawTarget) -> None:
    target.answers["/"] = then(NO_LENGTH, drip=b"x", every_s=0.02)
    fetcher = fetcher_with(min_rate_after_s=0.05, min_rate_bytes_s=0)
    outcome = await failed(fetcher, target.url("/"), timeout_s=0.4)
    assert (outcome.code, outcome.phase) == ("timeout", "body")


@pytest.mark.case("target-7")
async def test_a_body_above_the_minimum_rate_may_take_its_time(target: RawTarget) -> None:
    async def steady(request: Request, writer: asyncio.StreamWriter) -> None:
        del request
        writer.write(NO_LENGTH)
        for _ in range(10):
            writer.write(b"x" * 100)
            await writer.drain()
            await asyncio.sleep(0.05)

    target.answers["/"] = steady
    _, body = await fetched(fetcher_with(min_rate_after_s=0.1, min_rate_bytes_s=200), target.url("/"))
    assert body == b"x" * 1000


@pytest.mark.case("target-8")
async def test_an_endless_body_is_stopped_at_the_cap_with_memory_flat(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = then(NO_LENGTH, drip=b"x" * 65_536)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = await failed(fetcher, target.url("/"), max_bytes=64 * 1024 * 1024)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    assert isinstance(outcome, Permanent)
    assert outcome.code == "body_too_large"
    assert grown_kib < 16 * 1024


@pytest.mark.case("target-9")
async def test_a_declared_length_above_the_cap_is_refused_before_the_body(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = then(head("HTTP/1.1 200 OK\nContent-Length: 10000000000000\n\n"), drip=b"x", every_s=0.05)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert (outcome.code, outcome.exchange.bytes_read) == ("body_too_large", 0)


@pytest.mark.case("target-12")
async def test_a_body_ended_by_the_connection_may_be_whole(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = NO_LENGTH + b"body"
    outcome, body = await fetched(fetcher, target.url("/"))
    assert (body, outcome.complete) == (b"body", "unknown")


@pytest.mark.case("target-13")
async def test_a_gzip_bomb_is_stopped_at_the_cap_on_decoded_bytes(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(gzip.compress(bytes(32 * 1024 * 1024)), headers=AS_GZIP)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert outcome.code == "body_too_large"


@pytest.mark.case("target-16")
@pytest.mark.parametrize(
    ("coding", "body"),
    [("gzip", GZIP), ("x-gzip", GZIP), ("gzip, gzip", gzip.compress(GZIP, mtime=0)), ("identity", HELLO)],
)
async def test_a_coded_body_is_stored_decoded(target: RawTarget, fetcher: Fetcher, coding: str, body: bytes) -> None:
    target.answers["/"] = response(body, headers=f"Content-Encoding: {coding}\r\n")
    outcome, decoded = await fetched(fetcher, target.url("/"))
    assert decoded == HELLO
    assert outcome.sha256 == hashlib.sha256(HELLO).hexdigest()
    assert outcome.exchange.bytes_read == len(body)


@pytest.mark.case("target-17")
@pytest.mark.case("target-19")
@pytest.mark.parametrize(("coding", "flag"), [("gzip", "encoding_mismatch"), ("rot13", "encoding:unknown")])
async def test_what_cannot_be_decoded_is_stored_as_it_came_and_told(
    target: RawTarget, fetcher: Fetcher, coding: str, flag: str
) -> None:
    target.answers["/"] = response(HELLO, headers=f"Content-Encoding: {coding}\r\n")
    outcome, body = await fetched(fetcher, target.url("/"))
    assert (body, outcome.flags) == (HELLO, (flag,))


@pytest.mark.case("target-30")
@pytest.mark.parametrize("body", [bytes(1000), b"\xff\xfe\x00\xd8" * 100, "\u00fc".encode("utf-16"), b""])
async def test_a_body_is_never_read_as_text(target: RawTarget, fetcher: Fetcher, body: bytes) -> None:
    target.answers["/"] = response(body, headers="Content-Type: text/plain; charset=utf-8\r\n")
    _, kept = await fetched(fetcher, target.url("/"))
    assert kept == body


@pytest.mark.case("target-31")
@pytest.mark.parametrize(
    ("header", "body", "charset"),
    [
        ("charset=klingon", b"x", "klingon"),
        ("charset=utf-8", b"\x93x\x94", "utf-8"),
        ("charset=utf-8", "\ufeffx".encode("utf-16-le"), "utf-16le"),
        ("", b"\xef\xbb\xbfx", "utf-8"),
        ("", b"x", None),
    ],
)
async def test_the_charset_is_a_guess_and_the_bytes_are_the_targets(
    target: RawTarget, fetcher: Fetcher, *, header: str, body: bytes, charset: str | None
) -> None:
    target.answers["/"] = response(body, headers=f"Content-Type: text/plain; {header}\r\n")
    outcome, kept = await fetched(fetcher, target.url("/"))
    assert (outcome.charset, kept) == (charset, body)
