"""`scrapejobs submit`: jobs from a file or a pipe, batch by batch."""

import argparse
from typing import Any

from scrapejobs_client.cli import reading, showing
from scrapejobs_client.cli.exits import Exit
from scrapejobs_client.cli.watch import watch
from scrapejobs_client.client import Client
from scrapejobs_client.shapes import Submission


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a URL or a job as JSON in each line; `-` for stdin")
    parser.add_argument("--priority", choices=("high", "normal", "low"), help="of jobs that name none")
    parser.add_argument(
        "--tag", type=reading.tag, action="append", default=[], metavar="K=V", help="for every job; repeatable"
    )
    parser.add_argument("--callback", metavar="URL", help="who is told when a job has ended")
    parser.add_argument("--state", metavar="FILE", help="go on from here when the same command was cut off before")
    parser.add_argument("--wait", action="store_true", help="wait until all have ended, and tell how")


def run(options: argparse.Namespace, client: Client) -> Exit:
    """Prints the id of each job that is in, or with --json what became of each line."""
    given = {"priority": options.priority, "callback_url": options.callback, "tags": dict(options.tag)}
    jobs = reading.jobs_in(options.file, {name: value for name, value in given.items() if value})
    ids: list[str] = []
    n_accepted = n_refused = 0
    for one in client.submit_many(jobs, state=options.state):
        n_accepted += one.is_accepted
        n_refused += not one.is_accepted
        if options.wait and one.receipt:
            ids.append(one.receipt.id)
        _tell(one, is_json=options.json, is_quiet=options.wait)
    showing.say(f"{n_accepted} accepted, {n_refused} refused")
    ended = watch(client, ids, is_json=options.json) if options.wait else Exit.DONE
    return Exit.SOME_FAILED if n_refused else ended


def _tell(one: Submission, *, is_json: bool, is_quiet: bool) -> None:
    """`is_quiet`: what is in will be told of when it has ended."""
    if one.problem:
        showing.say(f"job {one.index + 1}: {one.problem}")
    if is_json and not (is_quiet and one.receipt):
        showing.json_line(_told(one))
    elif one.receipt and not is_quiet:
        showing.line(one.receipt.id)


def _told(one: Submission) -> dict[str, Any]:
    if one.receipt:
        return {"n": one.index + 1, "id": one.receipt.id, "status": one.receipt.status}
    problem = one.problem
    return {"n": one.index + 1, "problem": problem.name, "detail": str(problem)} if problem else {}
