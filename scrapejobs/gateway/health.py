"""Probes of the gateway. Postgres is needed; Valkey and the object store are named, for intake does without (P10)."""

import socket
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec
from django.db import Error, connection
from django.http import HttpResponse

from scrapejobs.gateway.answers import json_answer
from scrapejobs.gateway.context import context
from scrapejobs.gateway.problems import Problem
from scrapejobs.gateway.routes import Answer, Call, Route
from scrapejobs.store.connection import close_if_cut_off

PATIENCE_S: Final = 0.5
Reach = Literal["reached", "unreached"]


class Alive(msgspec.Struct, frozen=True):
    """This process answers."""

    status: Literal["alive"] = "alive"


class Readiness(msgspec.Struct, frozen=True):
    """Ready when Postgres is reached; the others may be away."""

    status: Literal["ready"]
    postgres: Reach
    redis: Reach
    object_store: Reach


def healthz(call: Call) -> HttpResponse:  # noqa: ARG001 - as every view
    return json_answer(Alive())


def readyz(call: Call) -> HttpResponse:  # noqa: ARG001 - as every view
    config = context().config
    others = {
        "redis": _reach(config.redis_url.get_secret_value(), 6379),
        "object_store": _reach(config.s3_endpoint_url, 443),
    }
    if not _has_postgres():
        raise Problem("unavailable", "Postgres is not reached", members={"postgres": "unreached", **others})
    return json_answer(Readiness("ready", "reached", **others))


def _has_postgres() -> bool:
    try:
        close_if_cut_off()
        connection.ensure_connection()
        return bool(connection.is_usable())
    except Error:
        return False


def _reach(url: str, default_port: int) -> Reach:
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or default_port), timeout=PATIENCE_S):
            return "reached"
    except OSError:
        return "unreached"


ROUTES: Final = (
    Route("GET", "/healthz", healthz, "Whether the process answers", (Answer(200, "It does", Alive),)),
    Route(
        "GET",
        "/readyz",
        readyz,
        "Whether requests can be served",
        (Answer(200, "They can", Readiness),),
        problems=("unavailable",),
    ),
)
