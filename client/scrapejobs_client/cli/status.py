"""`scrapejobs status`: how jobs are, now."""

import argparse
from collections.abc import Iterator
from itertools import islice

from scrapejobs_client.cli import reading, showing
from scrapejobs_client.cli.exits import Exit
from scrapejobs_client.client import Client
from scrapejobs_client.errors import ApiError
from scrapejobs_client.shapes import Job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reading.add_selection(parser)
    parser.add_argument(
        "--limit", type=reading.count, default=20, metavar="N", help="by filter, the newest N (default: 20)"
    )


def run(options: argparse.Namespace, client: Client) -> Exit:
    """Prints the jobs. Without ids and filter: the newest."""
    missing: list[str] = []
    jobs = _asked(options, client, missing) if options.ids else _found(options, client)
    if options.json:
        for job in jobs:
            showing.json_line(job.raw)
    else:
        showing.print_jobs(jobs)
    for id_ in missing:
        showing.say(f"{id_}: there is no such job")
    return Exit.SOME_FAILED if missing else Exit.DONE


def _found(options: argparse.Namespace, client: Client) -> Iterator[Job]:
    return islice(client.jobs(status=options.status, host=options.host, tags=dict(options.tag)), options.limit)


def _asked(options: argparse.Namespace, client: Client, missing: list[str]) -> Iterator[Job]:
    for id_ in reading.selected(options, client):
        try:
            yield client.job(id_)
        except ApiError as error:
            if error.name != "not-found":
                raise
            missing.append(id_)
