"""A worker's slots: the attempts it has under way, and why one is broken off."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final
from uuid import UUID

MOST_REPORTING: Final = 200
"""So many ended attempts may wait for their report; with more, the worker claims less."""


class Break(Enum):
    """Why an attempt is broken off."""

    CANCELLED = "its job was cancelled"
    LOST = "its lease is gone"
    UNRENEWED = "its lease could not be renewed in time"
    DRAINED = "the worker stops"


@dataclass(slots=True)
class Held:
    """One attempt under way. By this process's monotonic clock: `ends_at`, until when its lease surely holds, and
    `deadline_at`, when its job's deadline passes at the latest.
    """

    claimed: dict[str, Any]
    ends_at: float
    deadline_at: float
    task: "asyncio.Task[None] | None" = None
    broken: Break | None = None
    started: bool = False
    reporting: bool = False

    @property
    def seq(self) -> int:
        return int(self.claimed["seq"])

    @property
    def job_id(self) -> UUID:
        job_id: UUID = self.claimed["job_id"]
        return job_id

    def break_off(self, why: Break) -> None:
        """Stops the fetch, which closes its connection. An attempt that is already reporting is left alone: the
        database decides. One that has not taken its first step is only marked: a task cancelled before it would
        never come to give its slot back.
        """
        if self.broken is None and not self.reporting:
            self.broken = why
            if self.started and self.task is not None:
                self.task.cancel()


@dataclass(slots=True)
class Slots:
    """`total` fetches at once; `held` by fence, until they are reported."""

    total: int
    held: dict[int, Held] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic

    @property
    def free(self) -> int:
        """Room for so many more. What has ended and waits for its report to be noted takes up no slot, so that fetches
        need not wait for commits; there may be `MOST_REPORTING` of it.
        """
        n_reporting = sum(held.reporting for held in self.held.values())
        return min(self.total, self.total + MOST_REPORTING - n_reporting) - (len(self.held) - n_reporting)

    def fetching(self) -> Iterator[Held]:
        """Attempts that have not come to their report yet."""
        return (held for held in list(self.held.values()) if not held.reporting)

    def of_job(self, job_id: UUID) -> Held | None:
        return next((held for held in self.held.values() if held.job_id == job_id), None)

    async def empty(self) -> None:
        """Waits until nothing is under way."""
        while tasks := [held.task for held in self.held.values() if held.task is not None]:
            await asyncio.wait(tasks)
