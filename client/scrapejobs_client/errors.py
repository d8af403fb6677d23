"""What can go wrong, as a tree:

ScrapeJobsError
├── UnreachableError    nothing answered in time, or not this API
├── ApiError            the API refused: a problem (RFC 9457) with a name to switch on
├── DownloadError       the stored bytes could not be had, or are not those that were stored
├── ResumeError         the input of a resumed run is not the one that it began with
├── WaitTimeoutError    the job had not ended by then; it goes on
└── WebhookError        a call that was not signed with this secret, or not just now
"""

from collections.abc import Sequence
from dataclasses import dataclass, field


class ScrapeJobsError(Exception):
    """The root of all errors of this package."""


class UnreachableError(ScrapeJobsError):
    """No answer of this API within the time for retries. What was asked may have been done."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake of a request: a JSON pointer (RFC 6901) into the body, or `?name` of a parameter."""

    pointer: str
    code: str
    detail: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.detail}" if self.pointer else self.detail


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something was refused (RFC 9457). `name` is the end of its `type`, and part of the contract."""

    name: str
    status: int
    title: str = ""
    detail: str = ""
    errors: Sequence[Mistake] = field(default=())

    def __str__(self) -> str:
        what = "; ".join(map(str, self.errors)) or self.detail or self.title
        return f"{self.name}: {what}" if what else self.name


class ApiError(ScrapeJobsError):
    """The API refused a request. `retry_after_s` is how long it asked to wait, `request_id` is for support."""

    def __init__(self, problem: Problem, *, retry_after_s: float | None = None, request_id: str | None = None) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.retry_after_s = retry_after_s
        self.request_id = request_id

    @property
    def name(self) -> str:
        """The problem's name, as `already-final`."""
        return self.problem.name

    @property
    def status(self) -> int:
        return self.problem.status

    @property
    def is_of_one_job(self) -> bool:
        """Whether it is the job's state that is in the way (404, 409, 410), so that others may go on."""
        return self.problem.status in {404, 409, 410}


class DownloadError(ScrapeJobsError):
    """The result could not be fetched whole. What came so far is kept, and the next download goes on from there."""


class ResumeError(ScrapeJobsError):
    """A run cannot be resumed: its state file is of other input, or is none."""


class WaitTimeoutError(ScrapeJobsError, TimeoutError):
    """The job was not final when the time was up."""


class WebhookError(ScrapeJobsError):
    """Not a call of the service: do not act on it, and answer 400 or 401."""
