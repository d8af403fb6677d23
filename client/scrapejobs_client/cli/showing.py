"""How the command speaks: tables for people, a JSON object a line for pipes, and the rest on stderr."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from scrapejobs_client.shapes import Job

COLOURS: Final = {"succeeded": "green", "failed": "red", "cancelled": "yellow", "running": "cyan"}
COLUMNS: Final = ("id", "status", "attempts", "why", "url")


def say(text: str) -> None:
    """A line for the person: never among the output."""
    sys.stderr.write(f"{cell(text)}\n")
    sys.stderr.flush()


def line(text: str) -> None:
    """A line of output, at once: the next in a pipe waits for it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def json_line(value: Mapping[str, Any]) -> None:
    line(json.dumps(value, separators=(",", ":")))


def print_jobs(jobs: Iterable[Job]) -> None:
    """Jobs as a table: drawn on a terminal; in a pipe aligned plain text, nothing wrapped or cut."""
    rows = [(job.id, job.status, f"{job.attempts}/{job.max_attempts}", why(job), job.url) for job in jobs]
    if sys.stdout.isatty():
        _draw(rows)
        return
    cells = [[column.upper() for column in COLUMNS], *([cell(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
    for row in cells:
        line("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def why(job: Job) -> str:
    """What a job waits for, or how it failed."""
    if job.waiting_for:
        return job.waiting_for.reason
    if job.last_error and not job.has_succeeded:
        return job.last_error.code
    return ""


def cell(value: object) -> str:
    """A value as one line of text that cannot steer a terminal, whoever wrote it."""
    if value is None or value == "":
        return "-"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(value))


class Bar(Protocol):
    """Counts on."""

    def __call__(self, *, done: int, total: int | None, note: str = "") -> None: ...


@contextmanager
def bar(label: str) -> Iterator[Bar]:
    """A progress bar on stderr while the block lasts; on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda **_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=None)

        def count(*, done: int, total: int | None, note: str = "") -> None:
            progress.update(task, completed=done, total=total, description=f"{label} {note}".strip())

        yield count


def _draw(rows: Sequence[Sequence[str]]) -> None:
    table = Table(*COLUMNS, header_style="bold", box=None, pad_edge=False)
    for id_, status, *more in rows:
        colour = COLOURS.get(status, "")
        table.add_row(Text(cell(id_), no_wrap=True), Text(status, colour), *(Text(cell(text)) for text in more))
    Console().print(table)
