"""The decoders of the content codings: gzip, deflate, br and zstd. Each bounds its pieces and knows its end.

Sources: RFC 1952 (gzip), RFC 1950 and 1951 (deflate), RFC 7932 (br), RFC 8878 and RFC 9659 (zstd).
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import brotli  # type: ignore[import-untyped]
from backports import zstd

PIECE_BYTES: Final = 64 * 1024
MOST_PIECE_BYTES: Final = 128 * 1024
ZSTD_WINDOW_LOG: Final = 23
"""8 MiB: what a decoder of this content coding must take, and an encoder must not pass (RFC 9659)."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WBITS, _ZLIB_WBITS, _RAW_WBITS = 31, 15, -15
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE: Final = b"\x2a\x4d\x18"
_BROTLI_PIECE_BYTES: Final = 32 * 1024  # it allocates its output by blocks of this and more
_BROTLI_KEPT_BYTES: Final = 256 * 1024
_SURE_BYTES: Final = 4


class BodyTruncated(Exception):  # noqa: N818 - the body's fault
    """The compressed data ended before its end."""


class BodyCorrupt(Exception):  # noqa: N818 - the body's fault
    """The compressed data is damaged."""


class Decoder(Protocol):
    """Undoes one coding. What comes after its end is ignored."""

    @property
    def has_ended(self) -> bool: ...

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Pieces of at most 64 KiB. Raises `BodyCorrupt`."""


@dataclass(frozen=True, slots=True)
class Coding:
    """`begins`: whether a body with these first bytes, which look like plain text or not, has the coding at all.
    `decoder`: for a body with these first bytes; None when it has the coding in a form that cannot be undone.
    """

    begins: Callable[[bytes, bool], bool]
    decoder: Callable[[bytes], Decoder | None]


class _Members:
    """Compressed members one after another (gzip) or frames (zstd); junk after the last is ignored."""

    def __init__(self, *, n_magic: int, is_magic: Callable[[bytes], bool], opened: Callable[[], Any]) -> None:
        self._n_magic = n_magic
        self._is_magic = is_magic
        self._opened = opened
        self._member: Any = opened()
        self._held = b""  # less than a magic number, after a member
        self._is_junk = False

    @property
    def has_ended(self) -> bool:
        return self._member is None

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._is_junk:
            if self._member is None:
                data, self._held = self._held + data, b""
                if len(data) < self._n_magic:
                    self._held = data
                    return
                if not self._is_magic(data):
                    self._is_junk = True
                    return
                self._member = self._opened()
            yield from _pieces(self._member, data)
            data = self._member.unused_data
            if self._member.eof:
                self._member = None


class _Inflater:
    """One run of deflate data, with the zlib header or bare as some servers send it."""

    def __init__(self, wbits: int) -> None:
        self._inflater = zlib.decompressobj(wbits)

    @property
    def has_ended(self) -> bool:
        return self._inflater.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        return iter(()) if self._inflater.eof else _pieces(self._inflater, data)


class _Brotli:
    """The library does not tell junk after the end from damage: then what came is decoded again, byte by byte."""

    def __init__(self) -> None:
        self._decompressor = brotli.Decompressor()
        self._kept: list[bytes] | None = []
        self._n_kept = 0
        self.has_ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.has_ended:
            return
        n_out = 0
        try:
            for piece in _unbrotlied(self._decompressor, data):
                n_out += len(piece)
                yield piece
            self.has_ended = self._decompressor.is_finished()
        except brotli.error:
            yield from self._up_to_its_end(data, n_out)
        self._keep(data)

    def _keep(self, data: bytes) -> None:
        self._n_kept += len(data)
        if self._n_kept > _BROTLI_KEPT_BYTES:
            self._kept = None
        elif self._kept is not None:
            self._kept.append(data)

    def _up_to_its_end(self, data: bytes, n_given: int) -> Iterator[bytes]:
        if self._kept is None or self._n_kept + len(data) > _BROTLI_KEPT_BYTES:
            raise BodyCorrupt
        again = brotli.Decompressor()
        for _ in (piece for kept in self._kept for piece in _unbrotlied(again, kept)):
            pass
        try:
            for at in range(len(data)):
                for piece in _unbrotlied(again, data[at : at + 1]):
                    yield piece[n_given:]
                    n_given = max(0, n_given - len(piece))
                if again.is_finished():
                    self.has_ended = True
                    return
        except brotli.error:
            pass
        raise BodyCorrupt


def _unbrotlied(decompressor: "brotli.Decompressor", data: bytes) -> Iterator[bytes]:
    piece = decompressor.process(data, output_buffer_limit=_BROTLI_PIECE_BYTES)
    while piece:
        yield piece
        if decompressor.is_finished():
            return
        piece = decompressor.process(b"", output_buffer_limit=_BROTLI_PIECE_BYTES)


def _pieces(member: Any, data: bytes) -> Iterator[bytes]:
    """What data decodes to by a decompressor of zlib or zstd; the rest of it is in `unused_data`."""
    keeps_input = isinstance(member, zstd.ZstdDecompressor)
    try:
        # A full piece may leave more behind inside the decompressor, even with all its input taken.
        is_full = False
        while (data or is_full) and not member.eof:
            piece = member.decompress(data, PIECE_BYTES)
            data = b"" if keeps_input else member.unconsumed_tail
            is_full = len(piece) == PIECE_BYTES
            if piece:
                yield piece
    except (zlib.error, zstd.ZstdError):
        raise BodyCorrupt from None


def _is_zstd_frame(head: bytes) -> bool:
    return head.startswith(_ZSTD_MAGIC) or (head[0] >> 4 == 5 and head[1:4] == _SKIPPABLE)  # noqa: PLR2004


def _unzstd() -> zstd.ZstdDecompressor:
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG})


def _zstd_decoder(head: bytes) -> Decoder | None:
    """None for a frame that asks for a larger window, or a dictionary: its header alone is refused."""
    if head.startswith(_ZSTD_MAGIC) and len(head) > _SURE_BYTES:
        form = head[4]
        is_single = form >> 5 & 1
        n_header = 5 + (not is_single) + (0, 1, 2, 4)[form & 3] + (is_single, 2, 4, 8)[form >> 6]
        try:
            _unzstd().decompress(head[:n_header])
        except zstd.ZstdError:
            return None
    return _Members(n_magic=4, is_magic=_is_zstd_frame, opened=_unzstd)


def _gzip_decoder(_: bytes) -> Decoder:
    return _Members(
        n_magic=2, is_magic=lambda head: head.startswith(_GZIP_MAGIC), opened=lambda: zlib.decompressobj(_GZIP_WBITS)
    )


def _has_zlib_header(head: bytes) -> bool:
    """CM 8 with a window of at most 32 KiB, and the check of both bytes (RFC 1950, section 2.2)."""
    return head[0] & 15 == 8 and head[0] >> 4 <= 7 and (len(head) == 1 or (head[0] << 8 | head[1]) % 31 == 0)  # noqa: PLR2004


def _deflate_decoder(head: bytes) -> Decoder:
    return _Inflater(_ZLIB_WBITS if _has_zlib_header(head) else _RAW_WBITS)


def _is_whole_brotli(head: bytes) -> bool:
    decompressor = brotli.Decompressor()
    try:
        for _ in _unbrotlied(decompressor, head):
            pass
    except brotli.error:
        return False
    return bool(decompressor.is_finished())


_GZIP = Coding(begins=lambda head, _: head[:2] == _GZIP_MAGIC[: len(head)], decoder=_gzip_decoder)
_DEFLATE = Coding(
    begins=lambda head, is_text: _has_zlib_header(head) or not is_text,
    decoder=_deflate_decoder,
)
_BR = Coding(begins=lambda head, is_text: not is_text or _is_whole_brotli(head), decoder=lambda _: _Brotli())
_ZSTD = Coding(
    begins=lambda head, _: _ZSTD_MAGIC.startswith(head[:4]) or (len(head) >= _SURE_BYTES and _is_zstd_frame(head)),
    decoder=_zstd_decoder,
)
CODINGS: Final[dict[str, Coding]] = {
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "deflate": _DEFLATE,
    "br": _BR,
    "zstd": _ZSTD,
}
