"""Where requests begin and end in a stream of HTTP/1.1 whose bodies have their length said, as those for S3 have."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

HEAD_END: Final = b"\r\n\r\n"
LENGTH: Final = re.compile(rb"^content-length:\s*(\d+)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one request: its whole head (`offset` None), or a part of its body that begins at `offset`.

    Of a stream that is not HTTP: bytes without a method.
    """

    data: bytes
    method: str = ""
    offset: int | None = None
    is_last: bool = False


class Requests:
    """Divides what one connection sends."""

    def __init__(self) -> None:
        self._head = b""
        self._method = ""
        self._size = 0
        self._sent = 0

    def feed(self, data: bytes) -> Iterator[Piece]:
        """The pieces in `data`, in order; the begin of a head is kept until its end comes."""
        while data:
            if self._sent < self._size:
                part, data = data[: self._size - self._sent], data[self._size - self._sent :]
                offset, self._sent = self._sent, self._sent + len(part)
                yield Piece(part, self._method, offset, is_last=self._sent == self._size)
                continue
            head, end, data = (self._head + data).partition(HEAD_END)
            self._head = b"" if end else head
            if end:
                yield self._began(head + end)

    def _began(self, head: bytes) -> Piece:
        length = LENGTH.search(head)
        self._method = head.partition(b" ")[0].decode("latin-1")
        self._size, self._sent = int(length[1]) if length else 0, 0
        return Piece(head, self._method, is_last=self._size == 0)
