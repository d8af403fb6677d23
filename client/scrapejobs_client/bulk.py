"""Many jobs in batches, each job once: an item's idempotency key is made of the run's name and of its place in it."""

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from scrapejobs_client.errors import Problem, ResumeError
from scrapejobs_client.shapes import Raw, Receipt, Submission
from scrapejobs_client.transport import AGAIN, problem_of

BATCH_ITEMS: Final = 1000
BATCH_BYTES: Final = 1024 * 1024

KEY: Final = "idempotency_key"

Item = str | Mapping[str, Any]
Send = Callable[[Sequence[Mapping[str, Any]]], Sequence[Receipt | Problem]]
"""Hands a batch in; what became of each."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: `n_done` items are in for good, and `digest` stands for what they were."""

    run: str
    n_done: int = 0
    digest: str = ""

    def after(self, items: Sequence[str]) -> Self:
        digest = self.digest
        for item in items:
            digest = hashlib.sha256((digest + item).encode()).hexdigest()
        return type(self)(self.run, self.n_done + len(items), digest)


def recall(state: Path) -> Progress | None:
    """What a state file says; None without one. Raises `ResumeError` for a file that is none."""
    try:
        return Progress(**json.loads(state.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise ResumeError(f"{state} is not a state file of a run") from None


def note(state: Path, progress: Progress) -> None:
    """Writes the state as one whole, so that a crash leaves the old or the new."""
    new = state.with_name(state.name + ".new")
    with new.open("w", encoding="utf-8") as stream:
        json.dump({"run": progress.run, "n_done": progress.n_done, "digest": progress.digest}, stream)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(state)


def submit_all(jobs: Iterable[Item], send: Send, *, run: str | None, state: Path | None) -> Iterator[Submission]:
    """Hands all jobs in; see `Client.submit_many`."""
    items = (_encoded(job) for job in jobs)
    began = (recall(state) if state else None) or Progress(run or uuid.uuid4().hex)
    if run is not None and began.run != run:
        raise ResumeError(f"{state} is of the run {began.run!r}")
    progress = _skipped(items, began)
    if state:
        note(state, progress)  # its name is kept before anything is sent under it
    for batch in _batches(items):
        keyed = [{KEY: f"{progress.run}-{n}", **json.loads(item)} for n, item in enumerate(batch, progress.n_done)]
        for n, answer in enumerate(send(keyed), progress.n_done):
            yield Submission(n, answer, None) if isinstance(answer, Receipt) else Submission(n, None, answer)
        progress = progress.after(batch)
        if state:
            note(state, progress)


def answer_of(raw: Raw) -> Receipt | Problem:
    """What the service says to one item."""
    return Receipt.of(raw, is_replayed=raw.get("replayed", False)) if "id" in raw else problem_of(raw)


def is_for_now(answer: Receipt | Problem) -> bool:
    """Whether the same item, sent again, may be taken: the queue is full, or the database is away."""
    return isinstance(answer, Problem) and answer.status in AGAIN


def _encoded(job: Item) -> str:
    return json.dumps({"url": job} if isinstance(job, str) else dict(job), separators=(",", ":"), allow_nan=False)


def _skipped(items: Iterator[str], began: Progress) -> Progress:
    """Passes over what is in already. Raises `ResumeError` when that is not what it was."""
    passed = Progress(began.run)
    while some := list(islice(items, min(BATCH_ITEMS, began.n_done - passed.n_done))):
        passed = passed.after(some)
    if passed != began:
        raise ResumeError(f"the first {began.n_done} jobs are not those that this run began with")
    return passed


def _batches(items: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for item in items:
        if batch and (len(batch) == BATCH_ITEMS or size + len(item) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item)
    if batch:
        yield batch
