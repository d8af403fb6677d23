"""`scrapejobs download`: results as files, some at once, as their jobs end."""

import argparse
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from scrapejobs_client.cli import reading, showing
from scrapejobs_client.cli.exits import Exit, WrongUseError
from scrapejobs_client.client import Client
from scrapejobs_client.downloading import file_name
from scrapejobs_client.errors import ApiError, DownloadError
from scrapejobs_client.shapes import Job

AT_ONCE: Final = 4
T = TypeVar("T")
R = TypeVar("R")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reading.add_selection(parser)
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="where the files go (default: here)")
    parser.add_argument(
        "--names", choices=("id", "url"), default="id", help="name files by the job's id, or by its URL and id"
    )


def run(options: argparse.Namespace, client: Client) -> Exit:
    """Waits for each job and fetches its result. What is there already is not fetched again."""
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUseError(f"{options.out}: {error.strerror}") from None
    by_url = options.names == "url"
    n_failed = n_done = 0
    with showing.bar("files") as count:
        ended = client.ended(reading.selected(options, client))
        for told in in_parallel(lambda job: fetch(client, job, options.out, by_url=by_url), ended, AT_ONCE):
            is_file = "file" in told
            n_done += is_file
            n_failed += not is_file
            count(done=n_done + n_failed, total=None)
            if options.json:
                showing.json_line(told)
            elif is_file:
                showing.line(told["file"])
            if not is_file:
                showing.say(f"{told['id']}: {told['problem']}")
    showing.say(f"{n_done} files, {n_failed} without")
    return Exit.SOME_FAILED if n_failed else Exit.DONE


def fetch(client: Client, job: Job, directory: Path, *, by_url: bool) -> dict[str, Any]:
    """The job's result in `directory`; what to tell of it."""
    if job.result is None:
        return {"id": job.id, "problem": job.status, "detail": str(job.last_error or job.status)}
    name = file_name(job.id, content_type=job.result.content_type, url=job.url if by_url else None)
    try:
        file = client.download(job.id, directory, name=name)
    except DownloadError as error:
        return {"id": job.id, "problem": str(error)}
    except ApiError as error:
        if not error.is_of_one_job:
            raise
        return {"id": job.id, "problem": str(error)}
    return {"id": job.id, "file": str(file), "size": job.result.size, "sha256": job.result.sha256, "url": job.url}


def in_parallel(work: Callable[[T], R], items: Iterable[T], n: int) -> Iterator[R]:
    """What `work` makes of each item, in order, `n` at once. Takes items only as it comes to them."""
    source = iter(items)
    with ThreadPoolExecutor(n) as pool:
        waiting: deque[Future[R]] = deque(pool.submit(work, item) for item in islice(source, n))
        try:
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(pool.submit(work, item) for item in islice(source, 1))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
