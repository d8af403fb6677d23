"""`scrapejobs watch`: until jobs have ended, with a bar that counts them."""

import argparse
from collections import Counter
from collections.abc import Sequence

from scrapejobs_client.cli import reading, showing
from scrapejobs_client.cli.exits import Exit
from scrapejobs_client.client import Client
from scrapejobs_client.shapes import Job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reading.add_selection(parser)


def run(options: argparse.Namespace, client: Client) -> Exit:
    """Prints the jobs when they have ended."""
    return watch(client, list(reading.selected(options, client)), is_json=options.json)


def watch(client: Client, ids: Sequence[str], *, is_json: bool) -> Exit:
    """Waits for all. With `is_json` a job is printed when it has ended, else all are at the end, in the ids' order."""
    jobs: dict[str, Job] = {}
    counts: Counter[str] = Counter()
    with showing.bar("jobs") as count:
        count(done=0, total=len(ids))
        for job in client.ended(ids):
            counts[job.status] += 1
            count(done=counts.total(), total=len(ids), note=summary(counts))
            if is_json:
                showing.json_line(job.raw)
            else:
                jobs[job.id] = job
    if not is_json:
        showing.print_jobs(jobs[id_] for id_ in ids)
    showing.say(summary(counts) or "no jobs")
    return Exit.DONE if set(counts) <= {"succeeded"} else Exit.SOME_FAILED


def summary(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
