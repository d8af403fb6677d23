"""Between granian and Django: bodies are read here, by the event loop, so that a slow client holds no thread.

Granian calls it by its RSGI interface. The WSGI application then runs in a small pool of threads, each with a database
connection of its own, and meets a whole body or none. What is refused here is refused in the API's own form.
"""

import asyncio
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol
from urllib.parse import unquote_to_bytes

from scrapejobs.gateway import lines
from scrapejobs.gateway.problems import REFUSED, Problem
from scrapejobs.gateway.streaming import Stream
from scrapejobs.gateway.waiting import AGAIN, AWAITED, Awaited, Waits
from scrapejobs.telemetry import events

Headers = list[tuple[str, str]]
Answer = tuple[int, Headers, bytes]
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

OURS: Final = "scrapejobs."
"""Names in the environ that begin so are of this program: they stay when a view is asked again."""

MAX_BODY_BYTES: Final = 8 * 1024 * 1024

_NO_PREFIX: Final = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


class Scope(Protocol):
    """What granian tells of a request."""

    proto: str
    http_version: str
    server: str
    client: str
    scheme: str
    method: str
    path: str
    query_string: str
    headers: Any


class Front:
    """Serves a WSGI application. `body_s` bounds how long a body may take, `max_body_bytes` what any view may want."""

    def __init__(
        self,
        wsgi: Wsgi,
        *,
        threads: int,
        body_s: float,
        max_body_bytes: int = MAX_BODY_BYTES,
        waits: Waits | None = None,
        beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """`waits`: what tells of ends; `beside` runs in the event loop as long as it does."""
        self._waits = waits or Waits()
        self._beside = beside
        self._tasks: set[asyncio.Task[None]] = set()
        self._wsgi = wsgi
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self._body_s = body_s
        self._max_body_bytes = max_body_bytes

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Granian calls it before it serves. Its own answer to SIGTERM waits for requests under way, so those that wait
        are ended first; SIGINT means the same to it.
        """
        if self._beside:
            self._tasks.add(loop.create_task(self._beside()))

        def stop() -> None:
            self._waits.drain()
            os.kill(os.getpid(), signal.SIGINT)

        loop.add_signal_handler(signal.SIGTERM, stop)

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            loop.run_until_complete(asyncio.wait(self._tasks, timeout=1.0))

    async def __rsgi__(self, scope: Scope, protocol: Any) -> None:
        if scope.proto != "http":
            protocol.close()
            return
        environ = _environ(scope)
        if lines.is_stream(scope.method, scope.path, scope.headers.get("content-type")):
            await Stream(self._run, environ, body_s=self._body_s).serve(protocol)
            return
        try:
            environ["wsgi.input"] = io.BytesIO(await self._body(scope, protocol))
        except Problem as problem:
            environ[REFUSED] = problem
        began = time.monotonic()
        answer = await self._run(environ)
        if AWAITED in environ:
            answer = await self._held(scope, protocol, environ, since=began) or answer
        status, headers, content = answer
        if REFUSED in environ:  # what is left of the body must not be taken for the next request
            headers.append(("connection", "close"))
        if scope.method == "HEAD":
            protocol.response_empty(status, headers)
        else:
            protocol.response_bytes(status, headers, content)

    async def _held(self, scope: Scope, protocol: Any, first: dict[str, Any], *, since: float) -> Answer | None:
        """Waits as long as the view says that there is something to wait for; its latest answer. None: the client has
        gone. No thread is held meanwhile. What was told from `since` on counts, while the view was reading, too.
        """
        awaited: Awaited = first[AWAITED]
        ours = {name: value for name, value in first.items() if name.startswith(OURS) and name != AWAITED}
        deadline = time.monotonic() + awaited.seconds
        gone: asyncio.Future[Any] = asyncio.ensure_future(protocol.client_disconnect())
        try:
            while True:
                left_s = deadline - time.monotonic()
                most_s = max(0.0, min(left_s, awaited.poll_s))
                await self._waits.until_told(awaited.topic, since=since, most_s=most_s, or_gone=gone)
                if gone.done():
                    return None
                since = time.monotonic()
                is_last = self._waits.draining or since >= deadline
                environ = _environ(scope) | ours | {AGAIN: True}
                answer = await self._run(environ)
                if is_last or AWAITED not in environ:
                    return answer
        finally:
            gone.cancel()

    async def _run(self, environ: dict[str, Any]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, environ)

    async def _body(self, scope: Scope, protocol: Any) -> bytes:
        """The whole body. Raises `Problem` for one that is too large, too slow, or cut off: a part of a body must not
        be taken for the whole.
        """
        length = scope.headers.get("content-length")
        if length is None and scope.headers.get("transfer-encoding") is None:
            return b""
        if length is not None and (len(length) > len(str(sys.maxsize)) or int(length) > self._max_body_bytes):
            raise Problem("payload-too-large", f"no more than {self._max_body_bytes} bytes")
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._body_s):
                async for piece in protocol:
                    size += len(piece)
                    if size > self._max_body_bytes:
                        raise Problem("payload-too-large", f"no more than {self._max_body_bytes} bytes")
                    pieces.append(piece)
        except TimeoutError:
            raise Problem("request-timeout", f"the body did not come within {self._body_s:g} s") from None
        if length is not None and size != int(length):
            raise Problem("bad-request", f"the body ended after {size} of {length} bytes")
        return b"".join(pieces)

    def _answer(self, environ: dict[str, Any]) -> Answer:
        """The application's answer; a problem too when it has none, for whatever reason."""
        try:
            return self._call(environ)
        except Exception as error:  # noqa: BLE001 - outside of what Django catches; the server's own answer has no body
            events.loop_failed("front", error)
            answer = Problem("internal-error").answer()
            return answer.status_code, [(name.lower(), value) for name, value in answer.headers.items()], answer.content

    def _call(self, environ: dict[str, Any]) -> Answer:
        told: list[Any] = []

        def start_response(status: str, headers: Headers, _exc_info: Any = None) -> Callable[[bytes], None]:
            told[:] = [int(status[:3]), headers]
            return lambda _: None

        result = self._wsgi(environ, start_response)
        try:
            content = b"".join(result)
        finally:
            close = getattr(result, "close", None)
            if close is not None:
                close()
        return told[0], [(name.lower(), value) for name, value in told[1]], content


def _environ(scope: Scope) -> dict[str, Any]:
    """A request as PEP 3333 has it."""
    host, _, port = scope.server.rpartition(":")
    environ = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope.path).decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name in scope.headers.keys():  # noqa: SIM118 - not a dict
        if "_" in name:  # would pass for the header that is written with a hyphen
            continue
        key = _NO_PREFIX.get(name) or "HTTP_" + name.upper().replace("-", "_")
        environ[key] = ",".join(scope.headers.get_all(name))
    return environ
