"""aiohttp's connection with the strict reading of `http1` in place of its own parser."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from aiohttp import BaseConnector, HttpVersion, HttpVersion10, HttpVersion11, StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import EMPTY_PAYLOAD
from multidict import CIMultiDict, CIMultiDictProxy

from scrapejobs.adapters.http1 import Chunks, Head, HeaderLimits, HeadersTooLarge, HeadReader, ProtocolError

_INTERIM: Final = range(100, 200)
_SWITCHING: Final = 101
_WITHOUT_BODY: Final = frozenset({204, 304})

Messages = list[tuple[RawResponseMessage, StreamReader]]
_Fed = tuple[Messages, bool, bytes]


def read_strictly(connector: BaseConnector, limits: HeaderLimits) -> None:
    """Lets the connector's connections read answers strictly from here on."""
    factory: Any = partial(StrictHandler, asyncio.get_running_loop(), limits=limits)
    connector._factory = factory  # noqa: SLF001 - there is no public way


class StrictHandler(ResponseHandler):
    """Reads one answer strictly. What comes behind it is nobody's, for connections are not kept."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, limits: HeaderLimits) -> None:
        super().__init__(loop)
        self._limits = limits
        self._own_loop = loop

    def set_response_params(
        self, *, timer: Any = None, skip_payload: bool = False, read_bufsize: int = 65536, **_: Any
    ) -> None:
        """As the base class: the request is about to be sent."""
        self._skip_payload = skip_payload
        self._read_bufsize = read_bufsize
        body = partial(StreamReader, self, read_bufsize, timer=timer, loop=self._own_loop)
        self._parser = _Parser(self, body, has_body=not skip_payload, limits=self._limits)  # type: ignore[assignment]
        self._drain_tail()

    def connection_lost(self, exc: BaseException | None) -> None:
        """As the base class; a body without a length is not whole when the connection was cut."""
        if exc is not None and self._parser is not None:
            self._parser.cut()  # type: ignore[attr-defined]
        super().connection_lost(exc)


class _Parser:
    """What `ResponseHandler` wants of a parser."""

    def __init__(
        self, protocol: StrictHandler, body: Callable[[], StreamReader], *, has_body: bool, limits: HeaderLimits
    ) -> None:
        self._protocol = protocol
        self._new_body = body
        self._has_body = has_body
        self._limits = limits
        self._reader: HeadReader | None = HeadReader(limits)
        self._body: StreamReader | None = None
        self._left: int | None = None
        self._chunks: Chunks | None = None

    def feed_data(self, data: bytes) -> _Fed:
        messages: Messages = []
        while self._reader is not None and data:
            read = self._reader.feed(data)
            if read is None:
                break
            head, data = read
            if head.status not in _INTERIM:
                self._reader = None
                messages.append((_message(head), self._begin(head)))
            elif head.status == _SWITCHING:
                raise ProtocolError
        if self._body is not None and data:
            self._take(self._body, data)
        return messages, False, b""

    def feed_eof(self) -> None:
        """The connection is closed. Raises when the body is not whole."""
        body, self._body = self._body, None
        if body is None:
            return
        if self._left or (self._chunks is not None and not self._chunks.is_whole):
            self._body = body
            raise EOFError("the body is not whole")
        body.feed_eof()

    def cut(self) -> None:
        """The connection was reset."""
        if self._body is not None:
            self._fail(self._body, ConnectionResetError("the connection was reset"))

    def pause_reading(self) -> None:
        """What has come is kept; the transport brings no more."""

    def _begin(self, head: Head) -> StreamReader:
        if not self._has_body or head.status in _WITHOUT_BODY or head.length == 0:
            return EMPTY_PAYLOAD
        self._left = head.length
        self._chunks = Chunks(self._limits) if head.is_chunked else None
        self._body = self._new_body()
        return self._body

    def _take(self, body: StreamReader, data: bytes) -> None:
        if self._chunks is not None:
            try:
                body.feed_data(b"".join(self._chunks.feed(data)))
            except (ProtocolError, HeadersTooLarge) as error:
                self._fail(body, error)
                return
            has_ended = self._chunks.has_ended
        elif self._left is not None:
            body.feed_data(data if len(data) <= self._left else data[: self._left])
            self._left -= min(self._left, len(data))
            has_ended = self._left == 0
        else:
            body.feed_data(data)
            has_ended = False
        if has_ended:
            self._body = None
            body.feed_eof()

    def _fail(self, body: StreamReader, error: Exception) -> None:
        self._body = None
        body.set_exception(error)
        if self._protocol.transport is not None:
            self._protocol.transport.close()


def _message(head: Head) -> RawResponseMessage:
    """The answer as aiohttp's client knows it; its framing headers are made plain, the raw ones are as they came."""
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in head.headers:
        headers.add(name.decode("ascii"), _text(value))
    headers.popall("Content-Length", None)
    if head.length is not None:
        headers["Content-Length"] = str(head.length)
    if not head.is_chunked:
        headers.popall("Transfer-Encoding", None)
    version = {0: HttpVersion10, 1: HttpVersion11}.get(head.minor) or HttpVersion(1, head.minor)
    reason = _text(head.reason)
    return RawResponseMessage(
        version, head.status, reason, CIMultiDictProxy(headers), head.headers, True, None, False, head.is_chunked
    )


def _text(value: bytes) -> str:
    """As text that can be sent back: UTF-8, or else each byte a character."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
