"""Heads: long, odd, and what is no HTTP at all."""

import pytest

from scrapejobs.adapters.fetcher import Fetcher
from scrapejobs.domain.outcome import Permanent
from tests.integration.fetching import (
    failed,
    fetched,
    head,
    redirect,
)
from tests.integration.raw_target import RawTarget, response


@pytest.mark.case("target-20")
@pytest.mark.parametrize("headers", ["X: " + "a" * 9216 + "\r\n", "X: a\r\n" * 200])
async def test_long_headers_of_a_real_feed_pass(target: RawTarget, fetcher: Fetcher, headers: str) -> None:
    target.answers["/"] = response(b"x", headers=headers)
    await fetched(fetcher, target.url("/"))


@pytest.mark.case("target-21")
@pytest.mark.parametrize(
    "headers", ["X: " + "a" * 102_400 + "\r\n", "X: a\r\n" * 400, ("X: " + "a" * 8000 + "\r\n") * 120]
)
async def test_headers_above_the_limits_are_refused(target: RawTarget, fetcher: Fetcher, headers: str) -> None:
    target.answers["/"] = response(b"x", headers=headers)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert outcome.code == "headers_too_large"


@pytest.mark.case("target-22")
async def test_thousands_of_interim_answers_are_passed_over(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = head("HTTP/1.1 100 Continue\n\n") * 2000 + response(b"x")
    _, body = await fetched(fetcher, target.url("/"))
    assert body == b"x"


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        *(
            pytest.param(answer, "not_http", marks=pytest.mark.case("target-23"))
            for answer in (bytes(range(256)), b"SSH-2.0-OpenSSH_9.6\r\n", b"-ERR unknown command\r\n", b"+OK\r\n")
        ),
        *(
            pytest.param(head(answer), "protocol_error", marks=pytest.mark.case(case))
            for case, answer in (
                ("target-24", "HTTP/1.1 200 OK\nContent-Length: 3\nContent-Length: 4\n\nabcd"),
                ("target-24", "HTTP/1.1 200 OK\nContent-Length: 3\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n"),
                ("target-24", "HTTP/1.1 200 OK\nContent-Length: +3\n\nabc"),
                ("target-24", "HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\n3\nabc\n0\n\n"),
                ("target-24", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n+3\nabc\n0\n\n"),
                ("target-24", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabcd\n0\n\n"),
                ("target-25", "HTTP/1.1 099 X\nContent-Length: 0\n\n"),
                ("target-25", "HTTP/1.1 000 X\nContent-Length: 0\n\n"),
                ("target-25", "HTTP/1.1 600 X\nContent-Length: 0\n\n"),
                ("target-25", "HTTP/1.1 999 X\nContent-Length: 0\n\n"),
                ("target-25", "HTTP/2.0 200 OK\nContent-Length: 0\n\n"),
                ("target-26", "HTTP/1.1 101 X\nUpgrade: x\nConnection: upgrade\n\n"),
                ("target-26", "HTTP/1.1 304 X\nContent-Length: 0\n\n"),
                ("target-26", "HTTP/1.1 206 X\nContent-Length: 0\n\n"),
                ("target-28", "HTTP/1.1 200 OK\nX: a\x00b\nContent-Length: 0\n\n"),
                ("target-28", "HTTP/1.1 200 OK\nX: a\rb\nContent-Length: 0\n\n"),
                ("target-28", "HTTP/1.1 200 OK\nno colon\nContent-Length: 0\n\n"),
                ("target-28", "HTTP/1.1 200 OK\nX : b\nContent-Length: 0\n\n"),
            )
        ),
    ],
)
async def test_what_is_not_http_fails_at_once_and_none_of_it_is_quoted(
    target: RawTarget, fetcher: Fetcher, answer: bytes, code: str
) -> None:
    target.answers["/"] = answer
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Permanent)
    assert outcome.code == code
    for quoted in ("SSH", "ERR", "4", "400"):
        assert quoted not in outcome.detail


@pytest.mark.case("target-29")
async def test_odd_header_bytes_become_text_that_postgres_takes(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = head("HTTP/1.1 200 OK\nX: caf\xe9\nY: a\x01b\nContent-Length: 0\n\n")
    outcome, _ = await fetched(fetcher, target.url("/"))
    assert outcome.headers[:2] == (("X", "caf\u00e9"), ("Y", "a\ufffdb"))
    assert "empty" in outcome.flags


FORGED = head("HTTP/1.1 200 OK\nContent-Length: 6\n\nforged")


@pytest.mark.case("target-24")
@pytest.mark.parametrize("lengths", ["Content-Length: 4\nContent-Length: 4", "Content-Length: 4, 4"])
async def test_the_same_length_said_twice_is_one_length(target: RawTarget, fetcher: Fetcher, lengths: str) -> None:
    target.answers["/"] = head(f"HTTP/1.1 200 OK\n{lengths}\n\nbody")
    outcome, body = await fetched(fetcher, target.url("/"))
    assert (body, outcome.complete) == (b"body", "yes")


@pytest.mark.case("target-27")
@pytest.mark.parametrize(
    ("method", "answer", "kept"),
    [
        ("GET", "HTTP/1.1 204 No\nContent-Length: 5\n\nhello", b""),
        ("GET", "HTTP/1.1 204 No\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n", b""),
        ("GET", "HTTP/1.1 204 No\n\nhello", b""),
        ("HEAD", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", b""),
        ("GET", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", b"hello"),
        ("GET", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", b""),
        ("GET", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n", b"hello"),
        ("GET", "HTTP/1.1 200 OK\nConnection: keep-alive\nContent-Length: 5\n\nhello", b"hello"),
    ],
)
@pytest.mark.parametrize("behind", [FORGED, b"junk" * 100_000, b""], ids=["forged", "junk", "nothing"])
async def test_what_comes_behind_an_answer_is_nobodys(
    target: RawTarget, fetcher: Fetcher, *, method: str, answer: str, kept: bytes, behind: bytes
) -> None:
    target.answers["/"] = head(answer) + behind
    target.answers["/next"] = response(b"the next job's")
    outcome, body = await fetched(fetcher, target.url("/"), method=method)
    assert (body, outcome.complete) == (kept, "yes")
    assert ("empty" in outcome.flags) == (not kept)
    assert (await fetched(fetcher, target.url("/next")))[1] == b"the next job's"
    assert target.n_connections == 2


@pytest.mark.case("target-26")
@pytest.mark.parametrize(
    ("headers", "answer", "code"),
    [
        ({"If-None-Match": '"x"'}, "HTTP/1.1 304 Same\n\n", "http_304"),
        ({"Upgrade": "websocket"}, "HTTP/1.1 101 X\nUpgrade: websocket\nConnection: upgrade\n\n", "protocol_error"),
    ],
)
async def test_what_was_asked_for_is_an_answer(
    target: RawTarget, fetcher: Fetcher, headers: dict[str, str], answer: str, code: str
) -> None:
    target.answers["/"] = head(answer)
    outcome = await failed(fetcher, target.url("/"), headers=headers)
    assert (type(outcome), outcome.code) == (Permanent, code)


@pytest.mark.case("target-22")
async def test_hints_before_an_answer_are_not_the_answer(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = head("HTTP/1.1 103 Early Hints\nLink: x\n\nHTTP/1.1 199 Odd\n\n") + response(b"x")
    outcome, body = await fetched(fetcher, target.url("/"))
    assert (body, outcome.status, [name for name, _ in outcome.headers]) == (b"x", 200, ["Content-Length"])


@pytest.mark.case("target-29")
async def test_cookies_of_odd_bytes_do_no_harm(target: RawTarget, fetcher: Fetcher) -> None:
    cookies = ("a=\xe9", "b=\x01", "\xff=c", "=d", ";;", "e=\xff\xfe; path=/")
    odd = "".join(f"Set-Cookie: {cookie}\r\n" for cookie in cookies)
    target.answers["/"] = redirect("/end", headers=odd)
    target.answers["/end"] = response(b"x")
    _, body = await fetched(fetcher, target.url("/", host="a.example"))
    assert body == b"x"
    assert len(target.requests) == 2
