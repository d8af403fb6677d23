"""What the command is told to work on: jobs from files, and ids from arguments, from a pipe or by filter."""

import argparse
import json
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from scrapejobs_client.cli.exits import WrongUseError
from scrapejobs_client.client import Client
from scrapejobs_client.shapes import Status

STDIN: Final = "-"
STATUSES: Final = ("queued", "running", "succeeded", "failed", "cancelled")


def add_selection(parser: argparse.ArgumentParser, *, by_status: bool = True) -> None:
    """The arguments that say which jobs: ids, `-`, or filters."""
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="ids of jobs; `-` reads them from stdin, also as `submit` writes them"
    )
    group = parser.add_argument_group("instead of ids, all jobs that fit")
    group.add_argument("--tag", type=tag, action="append", default=[], metavar="K=V", help="repeatable: all must fit")
    group.add_argument("--host", metavar="HOST", help="of the target")
    if by_status:
        group.add_argument("--status", choices=STATUSES, help="as it is now")


def tag(text: str) -> tuple[str, str]:
    """An argument of the form K=V."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not K=V")
    return name, value


def count(text: str) -> int:
    """An argument that is a whole number from 1 on."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= sys.maxsize):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def has_filter(options: argparse.Namespace) -> bool:
    return bool(options.tag or options.host or getattr(options, "status", None))


def selected(options: argparse.Namespace, client: Client, *statuses: Status) -> Iterator[str]:
    """The ids that the options name, one at a time; by filter only jobs of these statuses, if any are given."""
    if bool(options.ids) == has_filter(options):
        raise WrongUseError("which jobs? Give ids, `-` for stdin, or a filter such as --tag K=V; one of these")
    if options.ids == [STDIN]:
        return _piped(sys.stdin)
    if options.ids:
        return iter([_id(text, text) for text in options.ids])
    asked: Status | None = getattr(options, "status", None)
    wanted = [asked] if asked else statuses or [None]
    found = (client.jobs(status=one, host=options.host, tags=dict(options.tag)) for one in wanted)
    return (job.id for jobs in found for job in jobs)


def jobs_in(name: str, defaults: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The jobs of a file, or of stdin: a URL or a job as JSON in each line. Empty lines and `#` lines are passed over.

    A file is read through before its first job is given, so that a mistake in it stops all. Raises `WrongUseError`.
    """
    with _opened(name) as stream:
        if stream.seekable():
            for _ in _jobs(stream, defaults):
                """Only to see that it can be read."""
            stream.seek(0)
        yield from _jobs(stream, defaults)


def _jobs(stream: IO[str], defaults: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for n, line in _lines(stream):
        job: dict[str, Any] = _object(line, n) if line.startswith("{") else {"url": line}
        if isinstance(job.get("tags"), dict):
            job["tags"] = {**defaults.get("tags", {}), **job["tags"]}
        yield {**defaults, **job}


def _lines(stream: IO[str]) -> Iterator[tuple[int, str]]:
    try:
        for n, line in enumerate(stream, 1):
            if (text := line.strip()) and not text.startswith("#"):
                yield n, text
    except UnicodeDecodeError:
        raise WrongUseError("the input is not text in UTF-8") from None


def _object(line: str, n: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        raise WrongUseError(f"line {n} is neither a URL nor a job as JSON") from None
    if not isinstance(value, dict):
        raise WrongUseError(f"line {n} is not a JSON object")
    return value


def _piped(stream: IO[str]) -> Iterator[str]:
    for n, line in _lines(stream):
        value = _object(line, n) if line.startswith("{") else {"id": line.split()[0]}
        if "id" in value:  # what was refused has none
            yield _id(value["id"], f"line {n}")


def _id(text: str, where: str) -> str:
    try:
        return str(uuid.UUID(text))
    except (ValueError, AttributeError, TypeError):
        raise WrongUseError(f"{where} is not the id of a job") from None


@contextmanager
def _opened(name: str) -> Iterator[IO[str]]:
    if name == STDIN:
        yield sys.stdin
        return
    try:
        stream = Path(name).open(encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise WrongUseError(f"{name}: {error.strerror}") from None
    with stream:
        yield stream
