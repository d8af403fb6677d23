"""The JSON lines of the roles, in words and colours for a person at a terminal."""

import json
import sys
from typing import Any, Final

COLOURS: Final = (36, 32, 35, 34, 33, 96, 92, 95)
LEVELS: Final = {"warning": 33, "error": 31, "critical": 31}
PREFIX_WIDTH: Final = 10
SAID_ALREADY: Final = frozenset({"event", "level", "time", "role", "service"})

LIBRARY_RECORD: Final = "log"


class Log:
    """One log of several processes, on stderr; colours only where a terminal shows them."""

    def __init__(self, *, colours: bool | None = None) -> None:
        self._colours = sys.stderr.isatty() if colours is None else colours
        self._seen: dict[str, int] = {}

    def say(self, label: str, text: str) -> None:
        """Print one line of `label`, made readable if it is JSON."""
        sys.stderr.write(self.line(label, text) + "\n")
        sys.stderr.flush()

    def line(self, label: str, text: str) -> str:
        colour = self._seen.setdefault(label, COLOURS[len(self._seen) % len(COLOURS)])
        prefix = self._in_colour(f"{label:<{PREFIX_WIDTH}}", colour)
        fields = _fields(text)
        if fields is None:
            return f"{prefix} {_printable(text)}"
        event = fields.pop("message", "") if fields.get("event") == LIBRARY_RECORD else fields.get("event", "")
        words = [_printable(str(event))]
        words += [f"{name}={_printable(_value(value))}" for name, value in fields.items() if name not in SAID_ALREADY]
        said = self._in_colour("  ".join(words), LEVELS.get(str(fields.get("level"))))
        return f"{prefix} {_time_of_day(fields)}{said}"

    def _in_colour(self, text: str, colour: int | None) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours and colour else text


def _fields(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        fields = json.loads(text)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None


def _time_of_day(fields: dict[str, Any]) -> str:
    """HH:MM:SS of an RFC 3339 time, and a space."""
    stamp = str(fields.get("time", ""))
    return f"{stamp[11:19]} " if len(stamp) >= len("2026-01-01T00:00:00") else ""


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _printable(text: str) -> str:
    """Without control characters: a scraped value must not steer somebody's terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
