"""Content codings undone as the bytes come, by decoders that know whether they reached the end.

aiohttp's own decoding takes a gzip body cut short for a whole one, and leaves stacked codings as they are.
Every piece that comes out is bounded, so a bomb is stopped by its reader (RFC 9110, section 8.4; RFC 1952).
"""

import zlib
from collections.abc import Iterable, Iterator
from typing import Protocol

PIECE_BYTES = 64 * 1024
MAX_CODINGS = 4

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WBITS, _ZLIB_WBITS, _RAW_WBITS = 31, 15, -15
_KNOWN_UNDECODED = frozenset({"br", "zstd", "compress", "x-compress"})


class BodyTruncated(Exception):  # noqa: N818 - the body's fault
    """The compressed data ended before its end."""


class BodyCorrupt(Exception):  # noqa: N818 - the body's fault
    """The compressed data is damaged."""


class _Stage(Protocol):
    is_plain: bool

    def feed(self, data: bytes) -> Iterator[bytes]: ...
    def end(self) -> Iterator[bytes]: ...


class ContentDecoder:
    """Undoes the codings of one Content-Encoding header, right to left, as far as they are known."""

    def __init__(self, content_encoding: str) -> None:
        codings = [token.strip().lower() for token in content_encoding.split(",")]
        codings = [coding for coding in codings if coding not in {"", "identity"}]
        self._stages: list[_Stage] = []
        self._left: str | None = None
        for coding in reversed(codings):
            stage = _STAGES.get(coding)
            if stage is None or len(codings) > MAX_CODINGS:
                self._left = coding if coding in _KNOWN_UNDECODED else "unknown"
                break
            self._stages.append(stage())

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What these bytes decode to, in pieces of at most 64 KiB. Raises `BodyCorrupt`."""
        return _through([data], self._stages)

    def end(self) -> Iterator[bytes]:
        """What was held back. Raises `BodyTruncated` when a coding has not reached its end."""
        for number, stage in enumerate(self._stages, start=1):
            yield from _through(stage.end(), self._stages[number:])

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader of the stored bytes must know: `encoding:br` when one was left on, and a mismatch."""
        left = (f"encoding:{self._left}",) if self._left else ()
        is_mismatch = any(stage.is_plain for stage in self._stages)
        return (*left, "encoding_mismatch") if is_mismatch else left

    @property
    def proves_end(self) -> bool:
        """Whether the coding itself says that the body is whole."""
        return bool(self._stages) and not any(stage.is_plain for stage in self._stages)


def _through(pieces: Iterable[bytes], stages: list[_Stage]) -> Iterator[bytes]:
    for stage in stages:
        pieces = _fed(stage, pieces)
    return iter(pieces)


def _fed(stage: _Stage, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield from stage.feed(piece)


class _Gzip:
    """Members one after another; junk after the last is ignored; what is not gzip at all passes as it came."""

    def __init__(self) -> None:
        self.is_plain = False
        self._held = b""  # less than a magic number, at the start of a member
        self._n_members = 0
        self._is_junk = False
        self._inflater: zlib._Decompress | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._is_junk:
            if self.is_plain:
                yield data
                return
            if self._inflater is None:
                data, self._held = self._held + data, b""
                if len(data) < len(_GZIP_MAGIC):
                    self._held = data
                    return
                self._begin_member(is_gzip=data.startswith(_GZIP_MAGIC))
                continue
            yield from _inflate(self._inflater, data)
            data = self._inflater.unused_data
            if self._inflater.eof:
                self._inflater = None
                self._n_members += 1

    def _begin_member(self, *, is_gzip: bool) -> None:
        if is_gzip:
            self._inflater = zlib.decompressobj(_GZIP_WBITS)
        elif self._n_members:
            self._is_junk = True
        else:
            self.is_plain = True

    def end(self) -> Iterator[bytes]:
        if self._inflater is not None:
            raise BodyTruncated
        if self._held and not self._n_members:
            self.is_plain = True
            yield self._held


class _Deflate:
    """The zlib format, and the bare deflate data that some servers send instead."""

    def __init__(self) -> None:
        self.is_plain = False
        self._inflater: zlib._Decompress | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inflater is None and not self.is_plain:
            self._begin(data)
        if self._inflater is None:
            yield data
        elif not self._inflater.eof:
            yield from _inflate(self._inflater, data)

    def _begin(self, data: bytes) -> None:
        for wbits in (_ZLIB_WBITS, _RAW_WBITS):
            try:
                zlib.decompressobj(wbits).decompress(data, PIECE_BYTES)
            except zlib.error:
                continue
            self._inflater = zlib.decompressobj(wbits)
            return
        self.is_plain = True

    def end(self) -> Iterator[bytes]:
        if self._inflater is not None and not self._inflater.eof:
            raise BodyTruncated
        return iter(())


_STAGES: dict[str, type[_Gzip] | type[_Deflate]] = {"gzip": _Gzip, "x-gzip": _Gzip, "deflate": _Deflate}


def _inflate(inflater: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    try:
        # A full piece may leave more behind inside the inflater, even with all its input taken.
        is_full = False
        while (data or is_full) and not inflater.eof:
            piece = inflater.decompress(data, PIECE_BYTES)
            data = inflater.unconsumed_tail
            is_full = len(piece) == PIECE_BYTES
            if piece:
                yield piece
    except zlib.error:
        raise BodyCorrupt from None
