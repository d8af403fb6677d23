"""Streams of lines are cut where their lines say, however they arrive."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapejobs.gateway.lines import MAX_LINE_BYTES, MAX_LINES_AT_ONCE, PIECE_BYTES, Cutter

LINES = st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"x")), max_size=40)


def cut(*chunks: bytes) -> list[list[bytes]]:
    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def pieces() -> list[list[bytes]]:
        return [piece async for piece in Cutter().pieces(stream())]

    return asyncio.run(pieces())


def joined(pieces: Sequence[Sequence[bytes]]) -> list[bytes]:
    return [line for piece in pieces for line in piece]


@pytest.mark.req("FR-3")
@given(lines=LINES, sizes=st.lists(st.integers(1, 7), max_size=60), ends=st.booleans())
def test_however_a_stream_arrives_its_lines_are_the_same(lines: list[bytes], sizes: list[int], ends: bool):
    text, chunks = b"\n".join(lines) + (b"\n" if ends else b""), []
    for size in sizes:
        chunks.append(text[:size])
        text = text[size:]
    assert joined(cut(*chunks, text)) == [line for line in lines if line.strip(b" \t\r")]


@pytest.mark.req("FR-3")
def test_a_piece_has_so_many_lines_or_so_many_bytes():
    assert [len(piece) for piece in cut(b"x\n" * 2500)] == [MAX_LINES_AT_ONCE, MAX_LINES_AT_ONCE, 500]
    long = b"y" * (PIECE_BYTES // 8)
    assert [len(piece) for piece in cut((long + b"\n") * 20)] == [8, 8, 4]


@pytest.mark.req("NFR-1")
def test_of_a_line_that_is_too_long_no_more_is_held_than_shows_it():
    chunk = b"z" * 65536
    ((line, after),) = cut(*[chunk] * 100, b"\nnext")
    assert len(line) == MAX_LINE_BYTES + 1
    assert after == b"next"
    ((last,),) = cut(*[chunk] * 100)
    assert len(last) == MAX_LINE_BYTES + 1
