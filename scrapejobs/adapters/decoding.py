"""Content codings undone as the bytes come, by decoders that know whether they reached the end.

aiohttp's own decoding takes a body cut short for a whole one, and leaves stacked codings as they are. Every piece that
comes out is bounded, and so is what each coding may make of the body: a bomb is stopped by its reader, or here
(RFC 9110, section 8.4).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from scrapejobs.adapters.codings import CODINGS, BodyCorrupt, BodyTruncated, Decoder
from scrapejobs.adapters.spool import TooLarge

__all__ = ["BodyCorrupt", "BodyTruncated", "ContentDecoder"]

MAX_CODINGS: Final = 4
SNIFFED_BYTES: Final = 1024
_SLACK_BYTES: Final = 1024 * 1024
_TELLING_BYTES: Final = 4

_NAMED_UNDECODED: Final = frozenset({"compress", "x-compress", *CODINGS})
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


class ContentDecoder:
    """Undoes the codings of one Content-Encoding header, right to left, as far as they are known.

    `max_bytes`: what the body may come to; no coding on the way to it may make much more.
    """

    def __init__(self, content_encoding: str, *, max_bytes: int) -> None:
        codings = [token.strip(" \t").lower() for token in content_encoding.split(",")]
        codings = [coding for coding in codings if coding not in {"", "identity"}]
        self._stages: list[_Stage] = []
        self._left: str | None = None
        for coding in reversed(codings):
            if coding not in CODINGS or len(codings) > MAX_CODINGS:
                self._left = coding if coding in _NAMED_UNDECODED else "unknown"
                break
            self._stages.append(_Stage(coding, most_bytes=max_bytes + _SLACK_BYTES))

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What these bytes decode to, in pieces of at most 64 KiB. Raises `BodyCorrupt` and `TooLarge`."""
        return _through([data], self._stages)

    def end(self) -> Iterator[bytes]:
        """What was held back. Raises `BodyTruncated` when a coding has not reached its end."""
        for number, stage in enumerate(self._stages, start=1):
            yield from _through(stage.end(), self._stages[number:])

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader of the stored bytes must know: `encoding:zstd` when one was left on, and a mismatch."""
        left = self._left or next((stage.left for stage in self._stages if stage.left), None)
        flags = (f"encoding:{left}",) if left else ()
        is_mismatch = any(stage.is_plain and not stage.left for stage in self._stages)
        return (*flags, "encoding_mismatch") if is_mismatch else flags

    @property
    def proves_end(self) -> bool:
        """Whether the codings themselves say that the body is whole."""
        return bool(self._stages) and all(stage.has_ended for stage in self._stages)


def _through(pieces: Iterable[bytes], stages: list["_Stage"]) -> Iterator[bytes]:
    for stage in stages:
        pieces = _fed(stage, pieces)
    return iter(pieces)


def _fed(stage: "_Stage", pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield from stage.feed(piece)


class _Stage:
    """One coding. Its first bytes tell whether the body has it at all; what has it not passes as it came."""

    def __init__(self, coding: str, *, most_bytes: int) -> None:
        self._coding = coding
        self._held = b""
        self._decoder: Decoder | None = None
        self._room = most_bytes
        self.is_plain = False
        self.left: str | None = None
        """The coding's name when the body has it, yet in a form that is not undone here."""

    @property
    def has_ended(self) -> bool:
        return self._decoder is not None and self._decoder.has_ended

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._decoder is None and not self.is_plain:
            self._held += data
            if len(self._held) < SNIFFED_BYTES:
                return
            data = self._begin()
        yield from self._decoded(data)

    def end(self) -> Iterator[bytes]:
        if self._held:
            yield from self._decoded(self._begin())
        if self._decoder is not None and not self._decoder.has_ended:
            raise BodyTruncated

    def _begin(self) -> bytes:
        head, self._held = self._held, b""
        coding = CODINGS[self._coding]
        if not coding.begins(head, _is_text(head)):
            self.is_plain = True
        else:
            self._decoder = coding.decoder(head)
            if self._decoder is None:
                self.is_plain, self.left = True, self._coding
        return head

    def _decoded(self, data: bytes) -> Iterator[bytes]:
        if self._decoder is None:
            yield data
            return
        for piece in self._decoder.feed(data):
            self._room -= len(piece)
            if self._room < 0:
                raise TooLarge
            yield piece


def _is_text(head: bytes) -> bool:
    """Whether a body's first bytes are text, which compressed data hardly ever looks like."""
    if len(head) < _TELLING_BYTES or _CONTROLS.search(head):
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return len(head) >= SNIFFED_BYTES and error.start >= len(head) - 3  # the sniffed bytes end within a character
    return True
