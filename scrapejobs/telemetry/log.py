"""The log: one JSON object a line on stdout, for our events and for every library's records alike.

Each line has `time` (RFC 3339, UTC), `level`, `event`, `role`, `service` and the event's own fields. A library's
record is the event `log`, with `logger` and `message`. A line is ASCII, so no message can break it in two or reach
a terminal with an escape sequence. Credentials and the queries of URLs are masked (NFR-12).
"""

import json
import logging
import re
import sys
import traceback
from collections.abc import MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final, Literal

import structlog

Level = Literal["debug", "info", "warning", "error"]

LONGEST_FIELD: Final = 8192
"""Characters of one field; the rest of a longer one is cut off."""

_LEVELS: Final = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
_SECRETS: Final = (
    # a URL's user and password, any query, what an Authorization header carries, our own keys and secrets
    (re.compile(r"(://)[^\s/?#]*@"), r"\1***@"),
    (re.compile(r"\?[^\s?\"'<>=]+=[^\s\"'<>]*"), "?***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+"), r"\1 ***"),
    (re.compile(r"\b(sj|whsec)_[\w+/=-]+"), r"\1_***"),
)

GRANIAN: Final[dict[str, Any]] = {
    "loggers": {
        "_granian": {"handlers": [], "propagate": True},
        "granian.access": {"handlers": [], "propagate": True, "level": "WARNING"},
    }
}
"""Granian's `log_dictconfig`: its records go the way of all others."""


@dataclass(slots=True)
class Written:
    """What is written at the level of now."""

    steps: bool = True


WRITTEN: Final = Written()
_log: Final[Any] = structlog.get_logger()


def step(event: str, **fields: Any) -> None:
    """A line at level `debug`. Each job has several; where they are not written they cost next to nothing."""
    if WRITTEN.steps:
        _log.debug(event, **fields)


def configure(*, role: str, service: str, level: Level = "info") -> None:
    """Sends every log record of this process to stdout from here on, marked with its role and service name.

    Libraries are heard from WARNING up, granian from INFO up. Safe to call again.
    """
    structlog.configure(
        processors=[_Line(role=role, service=service)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stdout),
        cache_logger_on_first_use=False,
    )
    WRITTEN.steps = level == "debug"
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.handlers = [_Records()]
    root.setLevel(logging.WARNING)
    logging.getLogger("_granian").setLevel(logging.INFO)
    # aiohttp's warnings quote what a target sent, such as the names of its cookies.
    logging.getLogger("aiohttp.internal").setLevel(logging.ERROR)
    # Django warns of every answer of 400 and above: a client's mistakes are for the metrics, not for the log.
    logging.getLogger("django.request").setLevel(logging.ERROR)


class _Line:
    """structlog's only processor: an event and its fields in, the line out."""

    def __init__(self, *, role: str, service: str) -> None:
        self._identity = {"role": role, "service": service}

    def __call__(self, _logger: Any, level: str, event: MutableMapping[str, Any]) -> str:
        error = event.pop("error", None)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": level,
            "event": event.pop("event"),
            **self._identity,
            **event,
        }
        if isinstance(error, BaseException):
            line["error"] = f"{type(error).__name__}: {error}"
            line["trace"] = "".join(traceback.format_exception(error))
        return json.dumps({name: _plain(value) for name, value in line.items()}, ensure_ascii=True)


class _Records(logging.Handler):
    """Hands the records of `logging` to structlog, so that there is one way out."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level = next((known for known in _LEVELS if known <= record.levelno), logging.DEBUG)
            error = record.exc_info[1] if record.exc_info else None
            structlog.get_logger().log(level, "log", logger=record.name, message=record.getMessage(), error=error)
        except Exception:  # noqa: BLE001 - a record that cannot be written must not stop who wrote it
            self.handleError(record)


def _plain(value: Any) -> str | int | float | None:
    """A field as JSON holds it: numbers stay, everything else becomes text without secrets."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return round(value, 6) if isfinite(value) else str(value)
    text = str(value)
    for secret, mask in _SECRETS:
        text = secret.sub(mask, text)
    return text[:LONGEST_FIELD]
