"""The gateway role: granian serves the WSGI application in one child process; this process answers the probes."""

import atexit
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable
from typing import Final

import psycopg
from django.conf import settings
from granian import Granian
from granian.constants import HTTPModes, Interfaces

from scrapejobs import failpoints
from scrapejobs.adapters.embedded.parent_death import follow_parent
from scrapejobs.config import Config
from scrapejobs.gateway.ends import Ends
from scrapejobs.gateway.front import Front
from scrapejobs.gateway.waiting import Waits
from scrapejobs.ops.health import Health
from scrapejobs.ops.metrics_folder import metrics_folder
from scrapejobs.telemetry import log, metrics

FACTORY: Final = "scrapejobs.ops.gateway:application"
CHECK_S: Final = 2
NAME: Final = "GATEWAY_NAME"


def serve(config: Config, *, name: str, metrics_port: int) -> None:
    """Serves until SIGTERM or SIGINT; requests under way are answered first. Raises OSError when a port is busy."""
    with metrics_folder() as folder:
        metrics.share_with_parent(folder)
        health = Health(
            {"postgres": postgres_check(config), "http": http_check(config)},
            registry=metrics.registry_for_parent(folder),
        )
        _see_that_it_is_free(config)
        metrics_port = health.serve(config.bind, metrics_port)
        # A forked child would keep this process's settings, and count where nobody reads: what a metric writes to is
        # chosen when it is imported.
        multiprocessing.set_start_method("spawn")
        os.environ["SCRAPEJOBS_SURFACE"] = config.surface
        os.environ["SCRAPEJOBS_METRICS_PORT"] = str(metrics_port)
        os.environ[NAME] = name
        server = Granian(
            FACTORY,
            factory=True,
            address=config.bind,
            port=config.port,
            interface=Interfaces.RSGI,
            http=HTTPModes.http1,
            workers=1,
            log_dictconfig=log.GRANIAN,
            websockets=False,
            respawn_failed_workers=True,
            respawn_interval=1.0,
            workers_kill_timeout=max(1, int(config.grace_s)),
        )
        try:
            server.serve()
        finally:
            health.close()


def application() -> Front:
    """What granian's child serves. It dies with its parent: a killed gateway must not keep the port."""
    follow_parent(signal.SIGKILL)
    atexit.register(os._exit, 0)  # before Python takes itself apart under granian's own threads, which abort then
    log.configure(role="gateway", service=os.environ[NAME])
    from scrapejobs.wsgi import application as wsgi

    config = settings.CONFIG
    failpoints.arm(config.failpoint)
    waits = Waits()
    ends = Ends(
        waits,
        database_url=config.database_url.get_secret_value(),
        redis_url=config.redis_url.get_secret_value(),
    )
    return Front(wsgi, threads=config.gateway_threads, body_s=config.body_timeout_s, waits=waits, beside=ends.run)


def postgres_check(config: Config) -> Callable[[], bool]:
    """Whether Postgres answers, on a connection made for the question."""

    def check() -> bool:
        url = config.database_url.get_secret_value()
        with psycopg.connect(url, connect_timeout=CHECK_S, autocommit=True) as conn:
            return conn.execute("SELECT 1").fetchone() is not None

    return check


def http_check(config: Config) -> Callable[[], bool]:
    """Whether the child accepts connections."""

    def check() -> bool:
        with socket.create_connection((_reachable(config.bind), config.port), timeout=CHECK_S):
            return True

    return check


def _reachable(bind: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bind, bind)


def _see_that_it_is_free(config: Config) -> None:
    """Granian aborts without a word for a person when its port is busy."""
    with socket.socket(socket.AF_INET6 if ":" in config.bind else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((config.bind, config.port))
