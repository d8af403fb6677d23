"""Content codings: whole, cut, damaged, stacked, mislabelled, and bombs."""

import gzip
import random
import zlib
from collections.abc import Callable
from functools import partial

import brotli
import pytest
from backports import zstd

from scrapejobs.adapters.codings import MOST_PIECE_BYTES, BodyCorrupt, BodyTruncated
from scrapejobs.adapters.decoding import ContentDecoder
from scrapejobs.adapters.spool import TooLarge

MIB = 1024 * 1024
TEXT = b"hello, world. " * 5000
NOISE = random.Random(5).randbytes(3000)
HTML = b"<!doctype html><title>plain</title>"


def packed(wbits: int, body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=wbits)
    return packer.compress(body) + packer.flush()


def gzipped(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)  # no time in the bytes: the same in each process


def raw_deflated(body: bytes) -> bytes:
    return packed(-15, body)


def streamed_zstd(body: bytes, *, window_log: int = 20) -> bytes:
    """Without the length in its header, as a server that compresses on the fly sends it, and with a checksum."""
    options = zstd.CompressionParameter
    packer = zstd.ZstdCompressor(
        options={options.window_log: window_log, options.content_size_flag: 0, options.checksum_flag: 1}
    )
    return packer.compress(body) + packer.flush()


Pack = Callable[[bytes], bytes]
CODINGS = [
    pytest.param("gzip", gzipped, id="gzip"),
    pytest.param("deflate", zlib.compress, id="deflate"),
    pytest.param("deflate", raw_deflated, id="bare-deflate"),
    pytest.param("br", partial(brotli.compress, quality=5), id="br"),
    pytest.param("zstd", zstd.compress, id="zstd"),
    pytest.param("zstd", streamed_zstd, id="streamed-zstd"),
]
each_coding = pytest.mark.parametrize(("coding", "pack"), CODINGS)


def decode(coding: str, data: bytes, *, step: int = 1000, max_bytes: int = 20 * MIB) -> tuple[bytes, ContentDecoder]:
    decoder = ContentDecoder(coding, max_bytes=max_bytes)
    pieces: list[bytes] = []
    for at in range(0, len(data), step):
        pieces += decoder.feed(data[at : at + step])
    pieces += decoder.end()
    return b"".join(pieces), decoder


@pytest.mark.case("target-16")
@each_coding
@pytest.mark.parametrize("body", [TEXT, NOISE, b"a", b"{}", b""], ids=["text", "noise", "a", "braces", "empty"])
@pytest.mark.parametrize("step", [1, 7, MIB])
def test_a_coding_is_undone_however_the_bytes_come(coding: str, pack: Pack, body: bytes, step: int) -> None:
    decoded, decoder = decode(coding, pack(body), step=step)
    assert decoded == body
    assert decoder.flags == ()
    assert decoder.proves_end


@pytest.mark.case("target-16")
@pytest.mark.parametrize(
    ("header", "packs"),
    [
        ("gzip, gzip", [gzipped, gzipped]),
        ("deflate, gzip", [zlib.compress, gzipped]),
        ("gzip, deflate", [gzipped, zlib.compress]),
        ("br,zstd", [brotli.compress, zstd.compress]),
        ("zstd , br\t, gzip", [zstd.compress, brotli.compress, gzipped]),
        ("gzip, br, zstd, deflate", [gzipped, brotli.compress, zstd.compress, zlib.compress]),
    ],
)
@pytest.mark.parametrize("step", [1, MIB])
def test_stacked_codings_are_undone_right_to_left(header: str, packs: list[Pack], step: int) -> None:
    data = TEXT
    for pack in packs:
        data = pack(data)
    decoded, decoder = decode(header, data, step=step)
    assert decoded == TEXT
    assert (decoder.flags, decoder.proves_end) == ((), True)


@pytest.mark.case("target-16")
@pytest.mark.parametrize("header", ["GZip", "X-GZIP", " gzip\t", ",gzip,,", "identity, gzip", "gzip, Identity"])
def test_a_coding_is_known_in_any_spelling_of_its_list(header: str) -> None:
    assert decode(header, gzipped(TEXT))[0] == TEXT


@pytest.mark.case("target-19")
@pytest.mark.parametrize("header", ["", " ", ",", "identity", "IDENTITY,, identity"])
def test_no_coding_leaves_the_body_alone_and_proves_nothing(header: str) -> None:
    decoded, decoder = decode(header, gzipped(TEXT))
    assert decoded == gzipped(TEXT)
    assert (decoder.flags, decoder.proves_end) == ((), False)


@pytest.mark.case("target-14")
@each_coding
@pytest.mark.parametrize("body", [TEXT, NOISE[:300]], ids=["text", "noise"])
def test_a_coding_cut_anywhere_is_never_taken_for_whole(coding: str, pack: Pack, body: bytes) -> None:
    whole = pack(body)
    for n in range(1, len(whole)):
        with pytest.raises(BodyTruncated):
            decode(coding, whole[:n])


@pytest.mark.case("target-14")
@pytest.mark.parametrize(
    ("header", "data"),
    [
        ("gzip, gzip", gzipped(gzipped(TEXT))[:-1]),
        ("gzip, gzip", gzipped(gzipped(TEXT)[:-1])),
        ("br, gzip", gzipped(brotli.compress(TEXT)[:-1])),
        ("gzip, zstd", zstd.compress(gzipped(TEXT)[:-4])),
        ("gzip", gzipped(TEXT) + gzipped(TEXT)[:-1]),
        ("zstd", zstd.compress(TEXT) + zstd.compress(TEXT)[:-1]),
    ],
    ids=["outer", "inner", "br-in-gzip", "gzip-in-zstd", "second-member", "second-frame"],
)
def test_a_cut_in_any_layer_or_member_is_seen(header: str, data: bytes) -> None:
    with pytest.raises(BodyTruncated):
        decode(header, data)


@pytest.mark.case("target-15")
@pytest.mark.parametrize(
    ("coding", "pack"),
    [("gzip", gzipped), ("deflate", zlib.compress), ("zstd", streamed_zstd)],
    ids=["gzip", "deflate", "zstd"],
)
def test_a_flipped_checksum_is_corrupt(coding: str, pack: Pack) -> None:
    whole = pack(TEXT)
    at = len(whole) - 5 if coding == "gzip" else len(whole) - 1  # gzip has its length behind the checksum
    with pytest.raises(BodyCorrupt):
        decode(coding, whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])


@pytest.mark.case("target-15")
@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip", gzipped(TEXT)[:12] + b"\xff" * 100),
        ("gzip", gzipped(TEXT)[:-4] + bytes(4)),
        ("deflate", b"\x78\x9c" + b"\xff" * 100),
        ("br", brotli.compress(TEXT)[:3] + b"\xff" * 100),
        ("zstd", zstd.compress(TEXT)[:10] + b"\xff" * 100),
        ("gzip", gzipped(TEXT) + b"\x1f\x8b" + b"\xff" * 100),
    ],
    ids=["gzip", "gzip-length", "deflate", "br", "zstd", "second-member"],
)
def test_damaged_data_is_corrupt(coding: str, data: bytes) -> None:
    with pytest.raises(BodyCorrupt):
        decode(coding, data)


@pytest.mark.case("target-17")
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize(
    "body",
    [HTML, HTML * 100, b'{"a": 1}', b"%PDF-1.7\n" * 200, "grüße".encode() * 400, b"a" * 3000],
    ids=["html", "long", "json", "pdf", "utf8", "letters"],
)
@pytest.mark.parametrize("step", [1, MIB])
def test_a_plain_body_that_claims_a_coding_is_kept_as_it_came(coding: str, body: bytes, step: int) -> None:
    kept, decoder = decode(coding, body, step=step)
    assert kept == body
    assert decoder.flags == ("encoding_mismatch",)
    assert not decoder.proves_end


@pytest.mark.case("target-17")
def test_one_coding_where_two_are_claimed_is_undone_once() -> None:
    kept, decoder = decode("gzip, gzip", gzipped(HTML))
    assert kept == HTML
    assert (decoder.flags, decoder.proves_end) == (("encoding_mismatch",), False)


@pytest.mark.case("target-18")
@each_coding
@pytest.mark.parametrize("junk", [b"junk", bytes(100), b"\n"], ids=["word", "zeros", "newline"])
@pytest.mark.parametrize("step", [1, 7, MIB])
def test_junk_after_the_end_is_ignored(coding: str, pack: Pack, junk: bytes, step: int) -> None:
    decoded, decoder = decode(coding, pack(TEXT) + junk, step=step)
    assert decoded == TEXT
    assert (decoder.flags, decoder.proves_end) == ((), True)


@pytest.mark.case("target-18")
@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip", gzipped(TEXT) + gzipped(b"") + gzipped(TEXT) + b"junk after"),
        ("zstd", zstd.compress(TEXT) + b"\x5f\x2a\x4d\x18\x03\x00\x00\x00xyz" + zstd.compress(TEXT) + b"junk after"),
        ("zstd", b"\x50\x2a\x4d\x18\x00\x00\x00\x00" + streamed_zstd(TEXT + TEXT)),
    ],
    ids=["gzip", "zstd", "skippable-first"],
)
@pytest.mark.parametrize("step", [1, MIB])
def test_members_and_frames_are_joined(coding: str, data: bytes, step: int) -> None:
    assert decode(coding, data, step=step)[0] == TEXT + TEXT


@pytest.mark.case("target-18")
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, br"])
def test_an_empty_body_that_claims_a_coding_is_empty_and_proves_nothing(coding: str) -> None:
    decoded, decoder = decode(coding, b"")
    assert decoded == b""
    assert (decoder.flags, decoder.proves_end) == ((), False)


@pytest.mark.case("target-19")
@pytest.mark.parametrize(
    ("header", "flag"),
    [
        ("rot13\x00", "encoding:unknown"),
        ("compress", "encoding:compress"),
        ("gzip;q=1", "encoding:unknown"),
        ('"gzip"', "encoding:unknown"),
        ("gzip gzip", "encoding:unknown"),
        ("gzip, gzip, gzip, gzip, gzip", "encoding:gzip"),
    ],
)
def test_an_unknown_coding_stays_on_and_is_told(header: str, flag: str) -> None:
    body, decoder = decode(header, b"as it came")
    assert body == b"as it came"
    assert decoder.flags == (flag,)


@pytest.mark.case("target-19")
def test_codings_outside_an_unknown_one_are_undone() -> None:
    body, decoder = decode("rot13, gzip", gzipped(b"uryyb"))
    assert (body, decoder.flags) == (b"uryyb", ("encoding:unknown",))


@pytest.mark.case("target-19")
@pytest.mark.parametrize("step", [1, MIB])
def test_a_zstd_frame_with_a_window_above_8_mib_stays_as_it_came(step: int) -> None:
    assert decode("zstd", streamed_zstd(TEXT, window_log=23), step=step)[0] == TEXT
    data = streamed_zstd(TEXT, window_log=24)
    body, decoder = decode("zstd", data, step=step)
    assert (body, decoder.flags, decoder.proves_end) == (data, ("encoding:zstd",), False)


BOMBS = [
    *(pytest.param(*coding.values, id=coding.id) for coding in CODINGS),
    pytest.param("gzip, gzip", lambda body: gzipped(gzipped(body)), id="gzip-in-gzip"),
    pytest.param("br, gzip", lambda body: gzipped(brotli.compress(body, quality=5)), id="br-in-gzip"),
]


@pytest.mark.case("target-13")
@pytest.mark.parametrize(("coding", "pack"), BOMBS)
def test_a_bomb_comes_out_in_small_pieces_so_that_its_reader_can_stop(coding: str, pack: Pack) -> None:
    bomb = pack(NOISE + bytes(32 * MIB))
    assert len(bomb) < 64 * 1024
    pieces = ContentDecoder(coding, max_bytes=100 * MIB).feed(bomb)
    sizes = [len(next(pieces)) for _ in range(20)]
    assert max(sizes) <= MOST_PIECE_BYTES


@pytest.mark.case("target-13")
@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip, gzip", gzipped(gzipped(b"x") + bytes(32 * MIB))),
        ("gzip, br", brotli.compress(gzipped(b"x") + bytes(32 * MIB))),
        ("gzip, zstd", zstd.compress(gzipped(b"") * 1_200_000)),
        ("deflate, gzip", gzipped(zlib.compress(b"x") + bytes(32 * MIB))),
    ],
    ids=["junk", "junk-br", "empty-members", "junk-deflate"],
)
def test_a_bomb_that_comes_to_nothing_is_stopped_too(coding: str, data: bytes) -> None:
    with pytest.raises(TooLarge):
        decode(coding, data, step=64 * 1024)


@pytest.mark.case("target-13")
@each_coding
def test_output_that_a_decoder_holds_back_is_not_lost(coding: str, pack: Pack) -> None:
    body = NOISE + bytes(3 * MOST_PIECE_BYTES + 5)
    assert decode(coding, pack(body), step=MIB)[0] == body
    assert decode(coding, pack(body), step=1)[0] == body
