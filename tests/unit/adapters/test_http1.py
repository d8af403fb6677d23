"""An HTTP/1.1 answer read strictly: what RFC 9112 lets through, and each way of breaking it."""

from dataclasses import dataclass

import pytest

from scrapejobs.adapters.http1 import BOUNDLESS, Chunks, Head, HeadersTooLarge, HeadReader, NotHttp, ProtocolError


@dataclass(frozen=True)
class Limits:
    max_header_bytes: int = 64 * 1024
    max_headers: int = 256
    max_headers_bytes: int = 256 * 1024


STEPS = pytest.mark.parametrize("step", [1, 3, 1_000_000])


def read(data: bytes, *, step: int = 1_000_000, limits: Limits | None = None) -> tuple[Head, bytes] | None:
    reader = HeadReader(limits or Limits())
    for at in range(0, len(data), step):
        if found := reader.feed(data[at : at + step]):
            head, rest = found
            return head, rest + data[at + step :]
    return None


def head(lines: str, *, status_line: str = "HTTP/1.1 200 OK") -> Head:
    found = read(f"{status_line}\n{lines}\n".replace("\n", "\r\n").encode("latin-1"))
    assert found is not None
    return found[0]


def unchunked(data: bytes, *, step: int = 1_000_000, limits: Limits | None = None) -> tuple[bytes, Chunks]:
    chunks = Chunks(limits or Limits())
    body = b"".join(piece for at in range(0, len(data), step) for piece in chunks.feed(data[at : at + step]))
    return body, chunks


@STEPS
def test_a_head_is_read_whole_and_what_follows_is_left(step: int) -> None:
    found = read(b"HTTP/1.1 404 Not  Found\r\nA: b \r\nSet-Cookie:x=1\r\nset-cookie:\ty\r\n\r\nbody\r\n\r\n", step=step)
    assert found is not None
    parsed, rest = found
    assert (parsed.minor, parsed.status, parsed.reason) == (1, 404, b"Not  Found")
    assert parsed.headers == ((b"A", b"b"), (b"Set-Cookie", b"x=1"), (b"set-cookie", b"y"))
    assert rest == b"body\r\n\r\n"


@STEPS
@pytest.mark.parametrize(
    ("data", "minor", "reason"),
    [
        (b"HTTP/1.0 200 \r\n\r\n", 0, b""),
        (b"HTTP/1.1 200\r\n\r\n", 1, b""),
        (b"HTTP/1.3 200 caf\xe9\r\n\r\n", 3, b"caf\xe9"),  # a higher minor version is read as 1.1 (RFC 9110, 2.5)
        (b"HTTP/1.1 200 OK\n\n", 1, b"OK"),  # a bare LF may end a line (RFC 9112, 2.2)
        (b"HTTP/1.1 200 OK\nA: b\r\n\n", 1, b"OK"),
    ],
)
def test_a_status_line_may_lack_its_reason_and_its_cr(data: bytes, minor: int, reason: bytes, step: int) -> None:
    found = read(data, step=step)
    assert found is not None
    assert (found[0].minor, found[0].reason, found[0].status) == (minor, reason, 200)


@pytest.mark.case("target-23")
@STEPS
@pytest.mark.parametrize(
    "data",
    [
        *(b"SSH-2.0-OpenSSH_9.6\r\n", b"-ERR unknown command\r\n", b"\x16\x03\x01", b"\r\nHTTP/1.1 200 OK\r\n\r\n"),
        *(
            b"ICY 200 OK\r\n\r\n",
            b"http/1.1 200 OK\r\n\r\n",
            b" HTTP/1.1 200 OK\r\n\r\n",
            b"<html>",
            bytes(10),
            b"HTTPS/",
        ),
        b"\xef\xbb\xbfHTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_what_does_not_begin_as_http_is_not_http(data: bytes, step: int) -> None:
    with pytest.raises(NotHttp):
        read(data, step=step)


@pytest.mark.case("target-25")
@pytest.mark.parametrize(
    "status_line",
    [
        *("HTTP/2.0 200 OK", "HTTP/3 200", "HTTP/0.9 200 OK", "HTTP/1 200 OK", "HTTP/1.10 200 OK", "HTTP/11 200 OK"),
        *("HTTP/1.1  200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 200OK", "HTTP/1.1 +20 OK", "HTTP/1.1"),
        *("HTTP/1.1\t200 OK", "HTTP/1.1 2e2 OK", "HTTP/1.1 -99 OK", "HTTP/1.1 \xb2\xb2\xb2 OK", "HTTP/1.1 OK 200"),
        "HTTP/1.1 200 O\x00K",
        "HTTP/1.1 200 O\rK",
    ],
)
def test_a_status_line_is_held_to_its_grammar(status_line: str) -> None:
    with pytest.raises(ProtocolError):
        head("A: b\n", status_line=status_line)


@pytest.mark.case("target-28")
@pytest.mark.parametrize(
    "lines",
    [
        *("A: b\x00c\n", "A: b\rc\n", "A\x00: b\n", "A: b\r\n"),
        *("A : b\n", "A\t: b\n", " A: b\n", "\tA: b\n", "no colon\n", ": b\n", "A b: c\n", "\xc4: b\n", "A(: b\n"),
    ],
)
def test_a_field_is_held_to_its_grammar(lines: str) -> None:
    with pytest.raises(ProtocolError):
        head(lines)


@pytest.mark.case("target-29")
@pytest.mark.parametrize(
    ("lines", "value"),
    [
        *(("A: caf\xe9\n", b"caf\xe9"), ("A: b\x01\x7fc\n", b"b\x01\x7fc"), ("A:\n", b""), ("A: \t \n", b"")),
        *(("A: b\n c\n", b"b c"), ("A: b\n\t  c \n d\n", b"b c d"), ("A:\n b\n", b" b"), ("A: b:c: d\n", b"b:c: d")),
    ],
)
def test_odd_values_are_kept_and_folded_lines_joined(lines: str, value: bytes) -> None:
    assert head(lines).headers == ((b"A", value),)


@pytest.mark.case("target-20")
@pytest.mark.case("target-21")
@pytest.mark.parametrize(
    ("lines", "fits"),
    [
        ("A: " + "b" * 9216 + "\n", True),
        ("A: b\n" * 256, True),
        ("A: b\n" * 257, False),
        ("A: " + "b" * (64 * 1024 - 1) + "\n", True),
        ("A: " + "b" * 64 * 1024 + "\n", False),
        ("A: b\n" + " c\n" * 300, False),
        ("A: b\n" + (" " + "c" * 1024 + "\n") * 70, False),
        (("A: " + "b" * 8000 + "\n") * 32, True),
        (("A: " + "b" * 8000 + "\n") * 120, False),
        ("A" * 70_000 + ": b\n", False),
    ],
    ids=["9k", "256", "257", "64k", "64k+1", "folds", "long-fold", "32x8k", "120x8k", "name"],
)
def test_a_head_is_held_to_the_limits(lines: str, fits: bool) -> None:
    if fits:
        head(lines)
    else:
        with pytest.raises(HeadersTooLarge):
            head(lines)


@pytest.mark.case("target-21")
@pytest.mark.parametrize("drip", [b"A: " + b"b" * 1000, b"A: b\r\n" * 100], ids=["one-line", "many-lines"])
def test_an_endless_head_is_given_up_before_it_ends(drip: bytes) -> None:
    with pytest.raises(HeadersTooLarge):
        read(b"HTTP/1.1 200 OK\r\n" + drip * 600, step=1000)


@pytest.mark.case("target-24")
@pytest.mark.parametrize(
    ("lines", "length"),
    [
        *(
            ("Content-Length: 5\n", 5),
            ("content-LENGTH:5\n", 5),
            ("Content-Length: 0\n", 0),
            ("Content-Length: 005\n", 5),
        ),
        *(("Content-Length: 5\nContent-Length: 5\n", 5), ("Content-Length: 5, 5 ,5\n", 5), ("A: b\n", None)),
        *(("Content-Length: " + "9" * 18 + "\n", 10**18 - 1), ("Content-Length: " + "9" * 5000 + "\n", BOUNDLESS)),
    ],
)
def test_a_length_is_one_number_however_often_it_is_said(lines: str, length: int | None) -> None:
    parsed = head(lines)
    assert (parsed.length, parsed.is_chunked) == (length, False)


@pytest.mark.case("target-24")
@pytest.mark.parametrize(
    "lines",
    [
        *("Content-Length: 3\nContent-Length: 4\n", "Content-Length: 3, 4\n", "Content-Length: 3\nContent-Length:\n"),
        *("Content-Length: +5\n", "Content-Length: -5\n", "Content-Length: 5 5\n", "Content-Length: 5,\n"),
        *("Content-Length: 0x5\n", "Content-Length: 5.0\n", "Content-Length:\n", "Content-Length: five\n"),
        *("Content-Length: 5;a\n", "Content-Length: 1_0\n", "Content-Length: \xb2\n", "Content-Length: 5\n 5\n"),
        *("Content-Length: 3\nTransfer-Encoding: chunked\n", "Transfer-Encoding: chunked\nContent-Length: 3\n"),
        *("Transfer-Encoding: gzip, chunked\n", "Transfer-Encoding: gzip\n", "Transfer-Encoding: chunked, gzip\n"),
        *("Transfer-Encoding: chunked, chunked\n", "Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n"),
        *("Transfer-Encoding: xchunked\n", "Transfer-Encoding: chunked;q=1\n", "Transfer-Encoding:\n"),
        *("Transfer-Encoding: \x0bchunked\n", "Transfer-Encoding: chun\n ked\n", 'Transfer-Encoding: "chunked"\n'),
        "Content-Length: 3\nTransfer-Encoding: identity\n",
    ],
)
def test_a_framing_that_two_readers_could_read_differently_is_refused(lines: str) -> None:
    with pytest.raises(ProtocolError):
        head(lines)


def test_chunks_are_known_in_any_case_and_not_before_http_1_1() -> None:
    assert head("Transfer-Encoding: Chunked\n").is_chunked
    assert not head("Transfer-Encoding: identity\n").is_chunked
    with pytest.raises(ProtocolError):  # RFC 9112, 6.1: such a framing is faulty
        head("Transfer-Encoding: chunked\n", status_line="HTTP/1.0 200 OK")


@STEPS
@pytest.mark.parametrize(
    "data",
    [
        b"3\r\nabc\r\n0\r\n\r\n",
        b"1\r\na\r\n002\r\nbc\r\n000\r\n\r\n",
        b'3;name=value;"quoted"\r\nabc\r\n0;last\r\n\r\n',
        b"3 \t;x\r\nabc\r\n0 \r\n\r\n",
        b"3\r\nabc\r\n0\r\nTrailer: x\r\nContent-Length: 77\r\n\r\n",
        b"3\r\nabc\r\n0\r\n\r\nHTTP/1.1 200 forged\r\n\r\n",
    ],
)
def test_chunks_are_joined_and_what_stands_around_is_left_out(data: bytes, step: int) -> None:
    body, chunks = unchunked(data, step=step)
    assert (body, chunks.has_ended, chunks.is_whole) == (b"abc", True, True)


@pytest.mark.case("target-11")
@pytest.mark.parametrize("n", range(len(b"3\r\nabc\r\n0\r\n\r\n")))
def test_chunks_are_whole_from_the_chunk_of_size_zero_on(n: int) -> None:
    data = b"3\r\nabc\r\n0\r\n\r\n"
    _, chunks = unchunked(data[:n])
    assert chunks.is_whole == (n >= len(b"3\r\nabc\r\n0\r\n"))  # RFC 9112, 8


@STEPS
@pytest.mark.parametrize(
    "data",
    [
        *(
            b"\r\n",
            b"x\r\n",
            b"-3\r\nabc\r\n",
            b"+3\r\nabc\r\n",
            b"0x3\r\nabc\r\n",
            b" 3\r\nabc\r\n",
            b";x\r\n",
            b"3g\r\nabc",
        ),
        *(b"3\nabc\r\n", b"3\r\nabc\n0\r\n\r\n", b"3\r\nabcd\r\n", b"3\r\nabc0\r\n\r\n", b"3\r\nabc\rx", b"3\rabc\r\n"),
        *(
            b"3;a\x00b\r\nabc\r\n",
            b"3;a\rb\r\nabc\r\n",
            b"3 3\r\nabc\r\n",
            b"3_\r\nabc\r\n",
            b"\xef\xbc\x93\r\nabc\r\n",
        ),
        *(
            b"0\r\nA: b\x00\r\n\r\n",
            b"0\r\nno colon\r\n\r\n",
            b"0\r\nA : b\r\n\r\n",
            b"0\r\n A: b\r\n\r\n",
            b"0\r\nA: b\n\r\n",
        ),
        b"3;" + b"x" * 5000 + b"\r\nabc\r\n",
        b"0" * 5000,
    ],
)
def test_chunks_are_held_to_their_grammar(data: bytes, step: int) -> None:
    with pytest.raises(ProtocolError):
        unchunked(data, step=step)


@pytest.mark.case("target-21")
@pytest.mark.parametrize(
    "trailers", [b"A: b\r\n" * 257, b"A: " + b"b" * 70_000 + b"\r\n", (b"A: " + b"b" * 8000 + b"\r\n") * 40]
)
def test_trailers_are_held_to_the_limits_of_headers(trailers: bytes) -> None:
    with pytest.raises(HeadersTooLarge):
        unchunked(b"0\r\n" + trailers + b"\r\n", step=1000)


def test_a_chunk_of_any_size_is_let_through_as_it_comes() -> None:
    body, chunks = unchunked(b"f" * 40 + b"\r\n" + b"abc")
    assert (body, chunks.is_whole) == (b"abc", False)
