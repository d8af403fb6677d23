"""How commands speak: tables, JSON, arguments, and errors of one line instead of a traceback."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final

import msgspec
import psycopg
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.db import OperationalError, ProgrammingError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scrapejobs.store.hosts import InvalidHostError, host_name
from scrapejobs.store.tenants import TenantNotFoundError

INTERRUPTED: Final = 130
WRONG_USE: Final = 2

_NOTHING: Final = "-"
_FAR_OFF: Final = 9999
_MOST: Final = 2**31 - 1
"""What a column of whole numbers holds; and more seconds than any date takes would be no pause but an error."""


_Handle = Callable[..., None]


def plain_errors(handle: _Handle) -> _Handle:
    """Wraps a command's `handle`: what a user can mend is told in one line, with exit code 1."""

    @wraps(handle)
    def told(command: BaseCommand, /, **options: Any) -> None:
        try:
            handle(command, **options)
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        except TenantNotFoundError as error:
            raise CommandError(f"{error}; `manage.py tenants list` shows them") from None
        except (OperationalError, psycopg.OperationalError) as error:
            raise CommandError(f"the database does not answer: {_first_line(error)}\n{_ASK_DOCTOR}") from None
        except ProgrammingError as error:
            raise CommandError(f"{_first_line(error)}\nTables out of date? `manage.py migrate`") from None
        except KeyboardInterrupt:
            raise CommandError("interrupted", returncode=INTERRUPTED) from None
        except BrokenPipeError:  # the reader of a pipe has seen enough; Python's own last flush must not fail either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return told


_ASK_DOCTOR: Final = "`manage.py doctor` says more"


def add_actions(parser: CommandParser) -> "argparse._SubParsersAction[CommandParser]":
    """The place for a command's sub-commands; each sets its own `act`."""
    return parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)


def or_none(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """An argument that may also be the word `none`, which clears what was set."""

    def read(text: str) -> Any:
        return None if text == "none" else kind(text)

    return read


def number(*, above: float | None = None, least: float | None = None) -> Callable[[str], float]:
    """An argument that is a number in a range, and not beyond what a column holds."""
    return _in_range(float, "number", above, least)


def whole(*, least: int, most: int = _MOST) -> Callable[[str], int]:
    """An argument that is a whole number, `least` or more."""
    return _in_range(int, "whole number", None, least, most)


def host_argument(text: str) -> str:
    """An argument that is a host in any spelling, or `*.domain`."""
    try:
        return host_name(text)
    except InvalidHostError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def moment(text: str) -> datetime:
    """An argument that is a time (RFC 3339; UTC when it names no zone)."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-11-30T12:00:00Z") from None


def print_table(out: OutputWrapper, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table: drawn on a terminal; in a pipe aligned plain text, nothing wrapped or cut."""
    cells = [[cell(value) for value in row] for row in rows]
    if out.isatty():
        table = Table(*columns, header_style="bold", box=None, pad_edge=False)
        for row in cells:
            table.add_row(*(Text(text) for text in row))
        console = Console(force_terminal=True)
        with console.capture() as captured:
            console.print(table)
        out.write(captured.get(), ending="")
        return
    lines = [[column.upper() for column in columns], *cells]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        out.write("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def print_json(out: OutputWrapper, value: Any) -> None:
    """A value as JSON, for scripts."""
    out.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def cell(value: object) -> str:
    """A value as one line of text that cannot steer a terminal, whoever wrote it."""
    match value:
        case None | "":
            return _NOTHING
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case datetime():
            if value.year == _FAR_OFF:
                return "until resumed"
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(value))


def _in_range(
    kind: Callable[[str], Any], word: str, above: float | None, least: float | None, most: int = _MOST
) -> Callable[[str], Any]:
    bound = f" above {above:g}" if above is not None else f" of {least:g} or more" if least is not None else ""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = float("nan")
        if not value <= most or (above is not None and value <= above) or (least is not None and value < least):
            raise argparse.ArgumentTypeError(f"{text!r} is not a {word}{bound}, and at most {most}")
        return value

    return read


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
