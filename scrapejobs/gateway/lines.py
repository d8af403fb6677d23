"""A stream of lines, cut into pieces that one transaction takes (FR-3). Nothing is held but the piece that comes in."""

from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

PATH: Final = "/jobs/bulk"
MEDIA_TYPE: Final = "application/x-ndjson"
MAX_LINES: Final = 100_000
MAX_LINES_AT_ONCE: Final = 1000
MAX_LINE_BYTES: Final = 256 * 1024
PIECE_BYTES: Final = 1024 * 1024
"""A piece ends with the line that makes it so long, whatever the number of its lines."""


PIECE: Final = "scrapejobs.piece"
"""Where in the environ the number of a piece is, from 0."""


def is_stream(method: str, path: str, content_type: str | None) -> bool:
    """Whether a request is a stream of lines."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    return method == "POST" and path == PATH and media_type == MEDIA_TYPE


def lines_in(text: bytes) -> list[bytes]:
    """The lines of a whole text; blank ones count for nothing."""
    return [line for line in text.split(b"\n") if not _is_blank(line)]


def _is_blank(line: bytes) -> bool:
    return not line.strip(b" \t\r")


class Cutter:
    """Cuts a stream. Where it cuts depends on the lines alone, so that a repeat is cut as the first time was.

    Blank lines are left out. Of a line that is too long as much is kept as shows that it is.
    """

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._open = b""  # the line that has not ended yet

    async def pieces(self, stream: AsyncIterable[bytes]) -> AsyncIterator[list[bytes]]:
        """Lists of lines, without their ends."""
        async for chunk in stream:
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                self._end_line(part)
                if self._is_full:
                    yield self._taken()
            self._open = self._kept(rest)
        self._end_line(b"")
        if self._lines:
            yield self._taken()

    def _kept(self, part: bytes) -> bytes:
        return self._open + part[: max(0, MAX_LINE_BYTES + 1 - len(self._open))]

    def _end_line(self, part: bytes) -> None:
        line, self._open = self._kept(part), b""
        if not _is_blank(line):
            self._lines.append(line)
            self._size += len(line)

    @property
    def _is_full(self) -> bool:
        return len(self._lines) >= MAX_LINES_AT_ONCE or self._size >= PIECE_BYTES

    def _taken(self) -> list[bytes]:
        taken, self._lines, self._size = self._lines, [], 0
        return taken
