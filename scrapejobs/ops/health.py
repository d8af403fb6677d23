"""A role's own small HTTP server: `/metrics`, `/healthz`, `/readyz`.

It answers from a thread, so that a process whose event loop hangs can still say which loop hangs. It is for probes and
Prometheus, not for clients: no TLS, no auth, no log.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Final

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.exposition import choose_encoder

Check = Callable[[], bool]

IDLE_S: Final = 10.0
"""How long a connection may say nothing."""


@dataclass(frozen=True, slots=True)
class _Note:
    ok: bool
    detail: str


class Health:
    """What a process says of itself. All methods may be called from any thread.

    `checks` are asked at each `/readyz`, in the server's thread: each must end by itself within a second or so, and
    one that raises has failed. What a loop learns anyway it tells with `ready` instead. `/metrics` shows `registry`.
    """

    def __init__(
        self, checks: Mapping[str, Check] = MappingProxyType({}), *, registry: CollectorRegistry = REGISTRY
    ) -> None:
        self._checks = dict(checks)
        self._registry = registry
        self._lock = threading.Lock()
        self._stale_at: dict[str, float] = {}
        self._notes: dict[str, _Note] = {}
        self._is_draining = False
        self._server: ThreadingHTTPServer | None = None

    def beat(self, loop: str, stale_after_s: float) -> None:
        """A loop is alive; if it does not beat again within `stale_after_s`, the process is not healthy."""
        with self._lock:
            self._stale_at[loop] = time.monotonic() + stale_after_s

    def ready(self, name: str, ok: bool, detail: str = "") -> None:
        """What a part of the process is like now; one that is not ok makes it unready."""
        with self._lock:
            self._notes[name] = _Note(ok, detail)

    def draining(self) -> None:
        """The process takes no new work: it is unready from here on, and healthy until it ends."""
        with self._lock:
            self._is_draining = True

    def stale_loops(self) -> list[str]:
        """Loops whose beat is overdue, by name."""
        now = time.monotonic()
        with self._lock:
            return sorted(loop for loop, stale_at in self._stale_at.items() if stale_at < now)

    def liveness(self) -> tuple[bool, dict[str, Any]]:
        """The answer of `/healthz`: whether every loop beats, and which do not."""
        stale = self.stale_loops()
        return not stale, {"healthy": not stale, "stale_loops": stale}

    def readiness(self) -> tuple[bool, dict[str, Any]]:
        """The answer of `/readyz`: whether the process may be given work, and what it looked at."""
        asked = {name: _ask(check) for name, check in self._checks.items()}
        with self._lock:
            parts = {**self._notes, **asked}
            is_draining = self._is_draining
        is_ready = not is_draining and all(part.ok for part in parts.values())
        return is_ready, {
            "ready": is_ready,
            "draining": is_draining,
            "parts": {name: {"ok": p.ok, "detail": p.detail} for name, p in parts.items()},
        }

    def metrics(self, accept: str) -> tuple[bytes, str]:
        """The answer of `/metrics` and its content type, in the format that `accept` asks for."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def serve(self, host: str, port: int) -> int:
        """Serves from a daemon thread until `close`; the port in use, which is a free one for port 0.

        Raises `OSError` when the address cannot be bound.
        """
        self._server = _Server((host, port), _handler_of(self))
        threading.Thread(target=self._server.serve_forever, name="health", daemon=True).start()
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stops serving and gives the port back. Nothing happens when nothing is served."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A probe that hangs up is nobody's trouble."""


class _Handler(BaseHTTPRequestHandler):
    health: Health
    timeout = IDLE_S
    server_version = "scrapejobs"
    sys_version = ""

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/healthz":
                self._verdict(self.health.liveness())
            case "/readyz":
                self._verdict(self.health.readiness())
            case "/metrics":
                self._answer(HTTPStatus.OK, *self.health.metrics(self.headers.get("Accept", "")))
            case _:
                self._answer(HTTPStatus.NOT_FOUND, b"/metrics /healthz /readyz\n", "text/plain")

    do_HEAD = do_GET  # noqa: N815 - the base class's name

    def _verdict(self, verdict: tuple[bool, dict[str, Any]]) -> None:
        good, said = verdict
        status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
        self._answer(status, json.dumps(said).encode() + b"\n", "application/json")

    def _answer(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Probes come every few seconds: no line for each."""


def _handler_of(health: Health) -> type[_Handler]:
    return type("_BoundHandler", (_Handler,), {"health": health})


def _ask(check: Check) -> _Note:
    try:
        return _Note(bool(check()), "")
    except Exception as error:  # noqa: BLE001 - whatever a check raises, the part is not ready
        return _Note(False, type(error).__name__)
