"""A target site on loopback: many addresses (a host each), one port, every request noted before it is answered."""

import hashlib
import threading
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.e2e.waiting import wait_until

BIG = 6 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Hit:
    host: str
    path: str
    headers: dict[str, str]
    body: bytes


class Target:
    """`/page/...` answers bytes made from the path; `/hold/...` waits until `release`; `/status/N` answers N;
    `/big/...` answers `BIG` bytes, `/long/...` a MiB that only this path has.
    """

    def __init__(self, addresses: int) -> None:
        self.hits: list[Hit] = []
        self.closed: list[str] = []
        self._gate = threading.Event()
        self._servers: list[_Server] = []
        port = 0
        for n in range(1, addresses + 1):
            server = _Server((f"127.0.0.{n}", port), _Handler)
            server.target = self
            port = server.server_address[1]
            self._servers.append(server)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.port = port

    def url(self, path: str, *, host: int = 1) -> str:
        return f"http://127.0.0.{host}:{self.port}{path}"

    def count(self) -> Counter[str]:
        return Counter(hit.path for hit in list(self.hits))

    def wait_for(self, path: str, times: int = 1) -> None:
        wait_until(lambda: self.count()[path] >= times, what=f"{times} x {path} at the target")

    def release(self) -> None:
        self._gate.set()

    def close(self) -> None:
        self._gate.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def held(self, handler: "_Handler") -> bool:
        """Whether the gate opened while the client stayed; a closed connection is noted."""
        handler.connection.settimeout(0.05)
        while not self._gate.is_set():
            try:
                if not handler.connection.recv(1):
                    self.closed.append(handler.path)
                    return False
            except TimeoutError:
                continue
            except OSError:
                self.closed.append(handler.path)
                return False
        return True


def page(path: str) -> bytes:
    """What `/page/...` answers: 10 KiB that only this path has."""
    return hashlib.sha256(path.encode()).digest() * 320


def long_page(path: str) -> bytes:
    """What `/long/...` answers: a MiB in which no two places are alike."""
    return b"".join(hashlib.sha256(f"{path} {n}".encode()).digest() for n in range(32_768))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    target: Target

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the test."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        target = self.server.target
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        target.hits.append(Hit(self.headers["Host"].partition(":")[0], self.path, dict(self.headers), body))
        kind = self.path.split("/")[1]
        if kind == "status":
            self._answer(int(self.path.split("/")[2]), b"no")
        elif kind == "big":
            self._answer(200, bytes(BIG))
        elif kind == "long":
            self._answer(200, long_page(self.path))
        elif kind == "page" or target.held(self):
            self._answer(200, page(self.path))

    do_POST = do_GET  # noqa: N815

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """The list of hits is the log."""
