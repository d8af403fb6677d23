"""The service as one object: a method for each thing to ask of it."""

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self, cast

from scrapejobs_client import bulk
from scrapejobs_client.bulk import Item, is_for_now
from scrapejobs_client.downloading import Fetch, file_name
from scrapejobs_client.errors import ApiError, Problem, WaitTimeoutError
from scrapejobs_client.pauses import Pauses, retry_after_s
from scrapejobs_client.shapes import Attempt, Finished, Job, Priority, Receipt, ResultLink, Status, Submission
from scrapejobs_client.transport import Call, Transport, json_of, lines_of
from scrapejobs_client.version import __version__

USER_AGENT: Final = f"scrapejobs-client/{__version__}"
HELD_S: Final = 20.0
"""How long the service is asked to hold an answer back until the job is final; it does for 30 s at most."""

POLL_S: Final = 1.0
LOOK_S: Final = 2.0
TOGETHER: Final = 20
"""How many of many jobs are looked at together, when none of them has ended every `LOOK_S` seconds."""

PAGE: Final = 200


class Client:
    """The service at `base_url`, as the tenant of `key` sees it. May be shared by threads; a `with` block closes it.

    Calls that fail for now (no connection, 429, 503) are repeated for up to `retry_for_s` seconds, as the service asks
    and only where a repeat does no harm. Each call may wait `timeout_s` seconds for an answer. Every method raises
    `ApiError` when the service refuses, and `UnreachableError` when it does not answer.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        timeout_s: float = 30.0,
        retry_for_s: float = 60.0,
        user_agent: str = USER_AGENT,
    ) -> None:
        self._transport = Transport(base_url, key, timeout_s=timeout_s, retry_for_s=retry_for_s, user_agent=user_agent)
        self._timeout_s = timeout_s
        self._retry_for_s = retry_for_s
        self._user_agent = user_agent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets the connections go."""
        self._transport.close()

    def submit(
        self,
        url: str,
        *,
        params: Mapping[str, Any] | None = None,
        priority: Priority = "normal",
        callback_url: str | None = None,
        tags: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Hands one job in. With a key of your own the job is one, also when your program runs twice."""
        body: dict[str, Any] = {"url": url, "priority": priority}
        body |= {
            name: value
            for name, value in (("params", params), ("callback_url", callback_url), ("tags", tags))
            if value is not None
        }
        key = idempotency_key or uuid.uuid4().hex
        answer = self._transport.call(Call("POST", "/jobs", json=body, headers={"Idempotency-Key": key}))
        return Receipt.of(json_of(answer), is_replayed=answer.headers.get("Idempotency-Replayed") == "true")

    def submit_many(
        self, jobs: Iterable[Item], *, run: str | None = None, state: str | Path | None = None
    ) -> Iterator[Submission]:
        """Hands any number of jobs in, each a URL or the body of POST /jobs; tells what became of each, in order.

        Goes in batches and holds one at a time. Nothing is handed in twice: the keys are made of the name `run` and of
        an item's place. With a `state` file a run that was cut off, in whatever way, is gone on with when it is begun
        again with the same jobs: what is in is passed over, and the batch in doubt is told again. Raises `ResumeError`
        when the jobs are not the same.
        """
        return bulk.submit_all(jobs, self._send, run=run, state=Path(state) if state is not None else None)

    def _send(self, jobs: Sequence[Mapping[str, Any]]) -> Sequence[Receipt | Problem]:
        """Hands a batch in. What is refused for now is sent again for as long as that brings some in."""
        answers = self._sent(jobs)
        pauses = Pauses(self._retry_for_s)
        while again := [n for n, answer in enumerate(answers) if is_for_now(answer)]:
            rest_s = pauses.next_s(None)
            if rest_s is None:
                raise ApiError(cast(Problem, answers[again[0]]))
            time.sleep(rest_s)
            for n, answer in zip(again, self._sent([jobs[n] for n in again]), strict=True):
                answers[n] = answer
                if not is_for_now(answer):
                    pauses = Pauses(self._retry_for_s)
        return answers

    def _sent(self, jobs: Sequence[Mapping[str, Any]]) -> list[Receipt | Problem]:
        """What the service says to each. As lines of JSON, so that one that is none spoils no other."""
        lines = b"".join(json.dumps(job, separators=(",", ":")).encode() + b"\n" for job in jobs)
        told = lines_of(self._transport.call(Call("POST", "/jobs/bulk", lines=lines)))
        told += told[-1:] * (len(jobs) - len(told))  # the last line of an answer that was broken off says why
        return [bulk.answer_of(raw) for raw in told]

    def job(self, job_id: str) -> Job:
        """The job as it is now."""
        return Job.of(self._transport.ask(Call("GET", _path(job_id))))

    def jobs(
        self,
        *,
        status: Status | None = None,
        host: str | None = None,
        priority: Priority | None = None,
        tags: Mapping[str, str] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Iterator[Job]:
        """The jobs that fit, newest first, a page at a time. What was there at the start comes exactly once."""
        wanted = {"status": status, "host": host, "priority": priority, "limit": str(PAGE)}
        wanted |= {f"tag.{name}": value for name, value in (tags or {}).items()}
        wanted |= {"created_after": _text(created_after), "created_before": _text(created_before)}
        params = {name: value for name, value in wanted.items() if value is not None}
        while True:
            page = self._transport.ask(Call("GET", "/jobs", params=params))
            yield from map(Job.of, page["items"])
            if page["next_cursor"] is None:
                return
            params["cursor"] = page["next_cursor"]

    def attempts(self, job_id: str) -> list[Attempt]:
        """Every attempt of a job, the one under way last."""
        return [Attempt.of(raw) for raw in self._transport.ask(Call("GET", _path(job_id, "attempts")))["items"]]

    def result(self, job_id: str) -> ResultLink:
        """A link to the stored bytes, good for some minutes."""
        return ResultLink.of(self._transport.ask(Call("GET", _path(job_id, "result"))))

    def wait(self, job_id: str, *, timeout_s: float | None = None) -> Job:
        """The job when it is final. Raises `WaitTimeoutError` after `timeout_s`; the job goes on."""
        until = time.monotonic() + timeout_s if timeout_s is not None else None
        while True:
            left_s = HELD_S if until is None else max(0.0, min(HELD_S, until - time.monotonic()))
            job, rest_s = self._held(job_id, left_s)
            if job.is_final:
                return job
            if until is not None and time.monotonic() + rest_s >= until:
                raise WaitTimeoutError(f"job {job_id} is {job.status} after {timeout_s:g} s")
            time.sleep(rest_s)

    def ended(self, job_ids: Iterable[str]) -> Iterator[Job]:
        """Each job when it has ended. Looks at `TOGETHER` of them at a time, and takes ids only as it comes to them."""
        source = iter(job_ids)
        looked_at = list(islice(source, TOGETHER))
        while looked_at:
            jobs = [self.job(job_id) for job_id in looked_at]
            ended = [job for job in jobs if job.is_final]
            yield from ended
            looked_at = [job.id for job in jobs if not job.is_final] + list(islice(source, len(ended)))
            if not ended:
                _, rest_s = self._held(looked_at[0], LOOK_S)
                time.sleep(rest_s)

    def _held(self, job_id: str, held_s: float) -> tuple[Job, float]:
        """The job when it is final, or as it is after `held_s` seconds; and how long to rest before asking again, which
        is nothing when the service has held the answer for so long.
        """
        began = time.monotonic()
        call = Call("GET", _path(job_id), headers={"Prefer": f"wait={int(held_s)}"}, held_s=held_s)
        answer = self._transport.call(call)
        rest_s = retry_after_s(answer.headers.get("Retry-After")) or POLL_S
        return Job.of(json_of(answer)), max(0.0, began + rest_s - time.monotonic())

    def results(self, job_ids: Iterable[str]) -> Iterator[Finished]:
        """Each job when it has ended, as `ended` gives them, with the link to its result if it succeeded."""
        for job in self.ended(job_ids):
            yield Finished(job, self.result(job.id) if job.has_succeeded else None)

    def download(self, job_id: str, directory: str | Path = ".", *, name: str | None = None) -> Path:
        """The result as a file in `directory`, which is made; its name is the job's id and type, unless one is given.

        The file is there under its name only when it is whole and has the size and SHA-256 that were stored; one that
        is there already is not fetched again. A cut is gone on with, also by the next call; a link that has expired is
        renewed. Raises `DownloadError`.
        """
        fetch = Fetch(
            lambda: self.result(job_id),
            timeout_s=self._timeout_s,
            retry_for_s=self._retry_for_s,
            user_agent=self._user_agent,
        )
        return fetch.to(Path(directory) / (name or file_name(job_id, content_type=fetch.link.content_type)))

    def cancel(self, job_id: str) -> Receipt:
        """Ends a job that has not ended: one that waits is never fetched, the connection of one that runs is closed."""
        return Receipt.of(self._transport.ask(Call("POST", _path(job_id, "cancel"))))

    def requeue(self, job_id: str) -> Receipt:
        """Gives a failed job a fresh set of attempts. Not repeated when the answer is lost: look at the job then."""
        return Receipt.of(self._transport.ask(Call("POST", _path(job_id, "requeue"), is_repeatable=False)))


def _path(job_id: str, *more: str) -> str:
    return "/".join(["/jobs", str(uuid.UUID(job_id)), *more])


def _text(moment: datetime | None) -> str | None:
    """As RFC 3339. A time without a zone is this machine's."""
    return None if moment is None else moment.astimezone().isoformat()
