"""Content codings: whole, cut, damaged, stacked, mislabelled, and bombs."""

import gzip
import zlib
from collections.abc import Iterator

import pytest

from scrapejobs.adapters.decoding import PIECE_BYTES, BodyCorrupt, BodyTruncated, ContentDecoder

TEXT = b"hello, world. " * 5000
GZIP = gzip.compress(TEXT, mtime=0)  # no time in the names of tests: xdist compares them
RAW_DEFLATE = zlib.compress(TEXT)[2:-4]


def decode(coding: str, data: bytes, *, step: int = 1000) -> tuple[bytes, ContentDecoder]:
    decoder = ContentDecoder(coding)
    pieces: list[bytes] = []
    for at in range(0, len(data), step):
        pieces += decoder.feed(data[at : at + step])
    pieces += decoder.end()
    return b"".join(pieces), decoder


@pytest.mark.case("target-16")
@pytest.mark.parametrize("step", [1, 7, 1_000_000])
@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", GZIP),
        ("X-GZIP", GZIP),
        ("deflate", zlib.compress(TEXT)),
        ("gzip, gzip", gzip.compress(GZIP, mtime=0)),
        ("deflate, gzip", gzip.compress(zlib.compress(TEXT), mtime=0)),
    ],
)
def test_codings_are_undone_right_to_left_however_the_bytes_come(coding: str, data: bytes, step: int) -> None:
    body, decoder = decode(coding, data, step=step)
    assert body == TEXT
    assert decoder.flags == ()


@pytest.mark.case("target-16")
def test_bare_deflate_data_is_undone_too() -> None:
    assert decode("deflate", RAW_DEFLATE)[0] == TEXT


@pytest.mark.case("target-14")
@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip", GZIP[: len(GZIP) // 2]),
        ("gzip", GZIP[:-8]),
        ("gzip", GZIP[:-1]),
        ("gzip", GZIP[:5]),
        ("deflate", zlib.compress(TEXT)[:-1]),
        ("gzip, gzip", gzip.compress(GZIP, mtime=0)[:-1]),
        ("gzip, gzip", gzip.compress(GZIP[:-1], mtime=0)),
    ],
)
def test_a_coding_cut_short_is_never_taken_for_whole(coding: str, data: bytes) -> None:
    with pytest.raises(BodyTruncated):
        decode(coding, data)


@pytest.mark.case("target-15")
def test_a_flipped_checksum_is_corrupt() -> None:
    with pytest.raises(BodyCorrupt):
        decode("gzip", GZIP[:-5] + bytes([GZIP[-5] ^ 1]) + GZIP[-4:])


@pytest.mark.case("target-17")
@pytest.mark.parametrize(
    ("coding", "body"),
    [("gzip", b"<html>plain</html>"), ("gzip", b"x"), ("deflate", b"<html>plain</html>"), ("deflate", b'{"a": 1}')],
)
def test_a_plain_body_that_claims_a_coding_is_kept_as_it_came(coding: str, body: bytes) -> None:
    kept, decoder = decode(coding, body)
    assert kept == body
    assert decoder.flags == ("encoding_mismatch",)
    assert not decoder.proves_end


@pytest.mark.case("target-18")
@pytest.mark.parametrize("step", [1, 1_000_000])
def test_members_are_joined_and_junk_after_them_is_ignored(step: int) -> None:
    assert decode("gzip", GZIP + GZIP + b"junk after", step=step)[0] == TEXT + TEXT


@pytest.mark.case("target-18")
def test_an_empty_body_that_claims_a_coding_is_empty() -> None:
    assert decode("gzip", b"")[0] == b""


@pytest.mark.case("target-19")
@pytest.mark.parametrize(("coding", "flag"), [("br", "encoding:br"), ("rot13\x00", "encoding:unknown")])
def test_an_unknown_coding_stays_on_and_is_told(coding: str, flag: str) -> None:
    body, decoder = decode(coding, b"as it came")
    assert body == b"as it came"
    assert decoder.flags == (flag,)


@pytest.mark.case("target-13")
def test_a_bomb_comes_out_in_small_pieces_so_that_its_reader_can_stop() -> None:
    def zeros() -> Iterator[bytes]:
        packer = zlib.compressobj(9, wbits=31)
        for _ in range(16):
            yield packer.compress(bytes(1024 * 1024))
        yield packer.flush()

    bomb = b"".join(zeros())
    pieces = ContentDecoder("gzip").feed(bomb)
    sizes = [len(next(pieces)) for _ in range(20)]
    assert len(bomb) < 17 * 1024
    assert max(sizes) <= PIECE_BYTES


@pytest.mark.case("target-13")
def test_output_that_the_inflater_holds_back_is_not_lost() -> None:
    body = bytes(3 * PIECE_BYTES + 5)
    assert decode("gzip", gzip.compress(body), step=1_000_000)[0] == body
    assert decode("gzip", gzip.compress(body), step=1)[0] == body
