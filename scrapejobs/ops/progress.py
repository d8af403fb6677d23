"""A progress bar for people: on stderr, and only when that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn


@contextmanager
def shown_progress(doing: str, *, total: int | None) -> Iterator[Callable[[int], None]]:
    """Gives the function that is told how many more are done. `total` None: nobody knows of how many."""
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda n: bar.advance(task, n)
