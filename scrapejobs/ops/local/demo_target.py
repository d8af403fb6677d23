"""A small site on loopback for the demo: pages that answer, hesitate, fail, ask for patience, or are gone."""

import hashlib
import threading
import time
from collections import Counter
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import ClassVar, Self
from urllib.parse import urlsplit

SLOW_S = 2.0
RETRY_AFTER_S = 2
FAILURES = 2
PAGE_REPEATS = 400


def body_of(path: str) -> bytes:
    """What the site answers for a path in the end; a few kilobytes, the same each time."""
    paragraph = f"<p>{path} {hashlib.sha256(path.encode()).hexdigest()}</p>\n"
    return ("<!doctype html><title>demo</title>\n" + paragraph * PAGE_REPEATS).encode()


class DemoTarget:
    """The site, for the time of a `with` block, on a port of its own."""

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.seen = Counter()  # type: ignore[attr-defined]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock: ClassVar[threading.Lock] = threading.Lock()

    def do_GET(self) -> None:
        kind = urlsplit(self.path).path.split("/")[1]
        times = self._times_seen()
        if kind == "slow":
            time.sleep(SLOW_S)
        if kind == "flaky" and times <= FAILURES:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE)
        elif kind == "busy" and times == 1:
            self._answer(HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": str(RETRY_AFTER_S)})
        elif kind == "gone":
            self._answer(HTTPStatus.GONE)
        else:
            self._answer(HTTPStatus.OK, body=body_of(self.path))

    def _times_seen(self) -> int:
        seen: Counter[str] = self.server.seen  # type: ignore[attr-defined]
        with self.lock:
            seen[self.path] += 1
            return seen[self.path]

    def _answer(self, status: HTTPStatus, headers: dict[str, str] | None = None, *, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: the demo shows what its jobs do."""
