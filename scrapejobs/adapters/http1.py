"""An HTTP/1.1 answer, read as strictly as RFC 9112 asks a client to: the head, what frames the body, and chunks.

Without I/O. aiohttp's own parser is lenient by design: it takes transfer codings that it does not undo, bare line ends
within fields, bytes after the end as part of the answer, and gives everything that breaks HTTP one name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

RawHeaders = tuple[tuple[bytes, bytes], ...]

_MAGIC: Final = b"HTTP/"
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([0-9]) ([0-9]{3})(?: (.*))?", re.DOTALL)
_FIELD: Final = re.compile(rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)$", re.MULTILINE)
_DIGITS: Final = re.compile(rb"[0-9]+")
_CHUNK_LINE: Final = re.compile(rb"([0-9A-Fa-f]+)[ \t]*(?:;[^\x00\r\n]*)?\r\n")
_CHUNK_LINE_BYTES: Final = 4096
_EMPTY_LINE: Final = re.compile(rb"\n\r?\n")
_OWS: Final = b" \t"
_MOST_DIGITS: Final = 18
BOUNDLESS: Final = 10**_MOST_DIGITS
"""What stands for a length with more digits than any body has bytes."""


class NotHttp(Exception):  # noqa: N818 - the answer's fault
    """The answer does not begin as HTTP does."""


class ProtocolError(Exception):
    """The answer breaks HTTP."""


class HeadersTooLarge(Exception):  # noqa: N818 - the answer's fault
    """The head, or what follows the last chunk, is above the limits."""


class HeaderLimits(Protocol):
    """How much head an answer may have."""

    @property
    def max_header_bytes(self) -> int: ...
    @property
    def max_headers(self) -> int: ...
    @property
    def max_headers_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Head:
    """A head as it came. `length`: of the body as the head says it; None when it does not."""

    minor: int
    status: int
    reason: bytes
    headers: RawHeaders
    length: int | None
    is_chunked: bool

    def values(self, name: bytes) -> list[bytes]:
        """The values of a header, by its name in lower case."""
        return [value for key, value in self.headers if key.lower() == name]


class HeadReader:
    """Collects one head. Raises `NotHttp`, `ProtocolError` or `HeadersTooLarge` as soon as it is known."""

    def __init__(self, limits: HeaderLimits) -> None:
        self._limits = limits
        self._held = bytearray()

    def feed(self, data: bytes) -> tuple[Head, bytes] | None:
        """The head and the bytes behind it, or None until it has come whole."""
        looked = max(0, len(self._held) - 2)
        seen: bytes | bytearray = data
        if self._held:
            self._held += data
            seen = self._held
        if not seen.startswith(_MAGIC[: len(seen)]):
            raise NotHttp
        end = _EMPTY_LINE.search(seen, looked)
        if end is None:
            self._hold(data)
            return None
        head, rest = bytes(seen[: end.start()]), bytes(seen[end.end() :])
        self._held.clear()
        return parse_head(head, self._limits), rest

    def _hold(self, data: bytes) -> None:
        self._held = self._held or bytearray(data)
        line_bytes = len(self._held) - 1 - self._held.rfind(b"\n")
        most = self._limits.max_headers_bytes + self._limits.max_header_bytes
        if line_bytes > self._limits.max_header_bytes or len(self._held) > most:
            raise HeadersTooLarge


def parse_head(block: bytes, limits: HeaderLimits) -> Head:
    """A head without its empty line. A bare LF may end a line (RFC 9112, 2.2); a bare CR or a NUL may be nowhere."""
    block = block.replace(b"\r\n", b"\n").removesuffix(b"\r")
    first, *lines = block.split(b"\n")
    status_line = _STATUS_LINE.fullmatch(first)
    if len(lines) > limits.max_headers or len(first) > limits.max_header_bytes:
        raise HeadersTooLarge
    if status_line is None or b"\r" in block or b"\0" in block:
        raise ProtocolError
    headers = _fields(lines, limits)
    minor = int(status_line[1])
    length, is_chunked = _framing(headers, minor=minor)
    return Head(minor, int(status_line[2]), status_line[3] or b"", headers, length, is_chunked)


def _fields(lines: list[bytes], limits: HeaderLimits) -> RawHeaders:
    fields = [(name, value.rstrip(_OWS)) for name, value in _FIELD.findall(b"\n".join(lines))]
    if len(fields) != len(lines):
        fields = _unfolded(lines)
    sizes = [len(name) + len(value) for name, value in fields]
    if sum(sizes) > limits.max_headers_bytes or max(sizes, default=0) > limits.max_header_bytes:
        raise HeadersTooLarge
    return tuple(fields)


def _unfolded(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Fields of which some lines are folded, or are none at all."""
    fields: list[tuple[bytes, bytes]] = []
    for line in lines:
        if line[:1] in {b" ", b"\t"} and fields:  # obs-fold: one space, as RFC 9112, 5.2 says
            name, value = fields[-1]
            fields[-1] = (name, value + b" " + line.strip(_OWS))
            continue
        field = _FIELD.fullmatch(line)
        if field is None:
            raise ProtocolError
        fields.append((field[1], field[2].rstrip(_OWS)))
    return fields


def _framing(headers: RawHeaders, *, minor: int) -> tuple[int | None, bool]:
    """The length and whether the body comes in chunks (RFC 9112, 6.1 to 6.3). What two readers could take for two
    different lengths is refused, and so is a transfer coding that nobody asked for.
    """
    lengths = [value for name, value in headers if name.lower() == b"content-length"]
    codings = [value for name, value in headers if name.lower() == b"transfer-encoding"]
    if not codings:
        return _length(b",".join(lengths)) if lengths else None, False
    if lengths or minor == 0:
        raise ProtocolError
    named = [coding.strip(_OWS).lower() for coding in b",".join(codings).split(b",")]
    if named == [b"identity"]:
        return None, False
    if named != [b"chunked"]:
        raise ProtocolError
    return None, True


def _length(value: bytes) -> int:
    """One number, or the same one several times (RFC 9112, 6.3)."""
    numbers = [number.strip(_OWS) for number in value.split(b",")]
    if not all(_DIGITS.fullmatch(number) for number in numbers) or len({n.lstrip(b"0") for n in numbers}) != 1:
        raise ProtocolError
    digits = numbers[0].lstrip(b"0") or b"0"
    return int(digits) if len(digits) <= _MOST_DIGITS else BOUNDLESS


class Chunks:
    """Takes the chunks off a body (RFC 9112, 7.1). Extensions and trailers are read and left out."""

    def __init__(self, limits: HeaderLimits) -> None:
        self._limits = limits
        self._held = b""
        self._left = 0  # bytes of the chunk under way
        self._is_inside = False  # a chunk's data, or the line end behind it
        self._trailers: list[bytes] = []
        self._n_trailer_bytes = 0
        self._is_last = False
        self.has_ended = False

    @property
    def is_whole(self) -> bool:
        """Whether the body has come: what ends it is the chunk of size zero (RFC 9112, 8)."""
        return self._is_last

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The data within. Raises `ProtocolError` or `HeadersTooLarge`; what comes after the end is ignored."""
        data, self._held = self._held + data, b""
        at = 0
        while at < len(data) and not self.has_ended:
            if self._left:
                piece = data[at : at + self._left]
                yield piece
                self._left -= len(piece)
                at += len(piece)
                continue
            line_end = data.find(b"\n", at) + 1
            if not line_end:
                self._hold(data[at:])
                return
            self._take(data[at:line_end])
            at = line_end

    def _hold(self, rest: bytes) -> None:
        if self._is_inside and not b"\r\n".startswith(rest):
            raise ProtocolError
        if len(rest) > (self._limits.max_header_bytes if self._is_last else _CHUNK_LINE_BYTES):
            raise HeadersTooLarge if self._is_last else ProtocolError
        self._held = rest

    def _take(self, line: bytes) -> None:
        if self._is_last:
            self._take_trailer(line)
        elif self._is_inside:
            if line != b"\r\n":
                raise ProtocolError
            self._is_inside = False
        else:
            size = _CHUNK_LINE.fullmatch(line) if len(line) <= _CHUNK_LINE_BYTES else None
            if size is None:
                raise ProtocolError
            digits = size[1].lstrip(b"0")
            self._left = int(digits or b"0", 16) if len(digits) < _MOST_DIGITS else BOUNDLESS
            self._is_inside, self._is_last = self._left > 0, self._left == 0

    def _take_trailer(self, line: bytes) -> None:
        self._n_trailer_bytes += len(line)
        if line == b"\r\n":
            _fields(self._trailers, self._limits)
            self.has_ended = True
            return
        if len(self._trailers) >= self._limits.max_headers or self._n_trailer_bytes > self._limits.max_headers_bytes:
            raise HeadersTooLarge
        if not line.endswith(b"\r\n") or b"\0" in line or b"\r" in line[:-2]:
            raise ProtocolError
        self._trailers.append(line[:-2])
