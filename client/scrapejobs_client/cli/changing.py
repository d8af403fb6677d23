"""`scrapejobs cancel` and `scrapejobs requeue`: a change of each of some jobs."""

import argparse
from collections.abc import Callable

from scrapejobs_client.cli import reading, showing
from scrapejobs_client.cli.exits import Exit
from scrapejobs_client.client import Client
from scrapejobs_client.errors import ApiError
from scrapejobs_client.shapes import Receipt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reading.add_selection(parser, by_status=False)


def cancel(options: argparse.Namespace, client: Client) -> Exit:
    """By filter: what waits or runs."""
    ids = list(reading.selected(options, client, "queued", "running"))  # found before any of them changes
    return _change(ids, client.cancel, is_json=options.json)


def requeue(options: argparse.Namespace, client: Client) -> Exit:
    """By filter: what has failed."""
    ids = list(reading.selected(options, client, "failed"))
    return _change(ids, client.requeue, is_json=options.json)


def _change(ids: list[str], change: Callable[[str], Receipt], *, is_json: bool) -> Exit:
    n_refused = 0
    with showing.bar("jobs") as count:
        for n, id_ in enumerate(ids, 1):
            try:
                receipt = change(id_)
            except ApiError as error:
                if not error.is_of_one_job:
                    raise
                n_refused += 1
                showing.say(f"{id_}: {error}")
                told = {"id": id_, "problem": error.name}
            else:
                told = {"id": receipt.id, "status": receipt.status}
            count(done=n, total=len(ids))
            if is_json:
                showing.json_line(told)
            elif "status" in told:
                showing.line(f"{told['id']}  {told['status']}")
    showing.say(f"{len(ids) - n_refused} changed, {n_refused} refused")
    return Exit.SOME_FAILED if n_refused else Exit.DONE
