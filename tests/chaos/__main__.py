"""`python -m tests.chaos`: every fault of the catalogue, or those that are named, and the scorecard."""

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests import servers as shared

if TYPE_CHECKING:
    from tests.chaos.fault import Fault

WIDTH = 120


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Runs the service under fire.")
    parser.add_argument("--fault", action="append", metavar="NAME", help="only this one; may be given again")
    parser.add_argument(
        "--seed", type=int, default=1, help="what the schedules and the load are drawn from (default: 1)"
    )
    parser.add_argument("--seconds", type=float, help="how long each fault is injected (default: its own time)")
    parser.add_argument("--list", action="store_true", help="name the faults and do nothing")
    options = parser.parse_args()
    settle_the_environment()
    from tests.chaos.catalogue import CATALOGUE

    if options.list:
        for fault in CATALOGUE.values():
            sys.stdout.write(f"{fault.name:24} while load runs, {fault.about}\n")
        return 0
    unknown = set(options.fault or ()) - set(CATALOGUE)
    if unknown:
        parser.error(f"no such fault: {', '.join(sorted(unknown))} (--list names them)")
    faults = [CATALOGUE[name] for name in options.fault or CATALOGUE]
    return run(faults, seed=options.seed, seconds=options.seconds)


def settle_the_environment() -> None:
    """No setting of ours comes from outside, and Ctrl-C or SIGTERM end what runs in order."""
    shared.forget_the_developers_environment()
    os.environ |= shared.NO_SERVERS | {"SCRAPEJOBS_SECRET_KEY": "a-key-for-tests-and-nothing-else-0123456789"}
    os.environ["SCRAPEJOBS_SEALING_KEYS"] = shared.SEALING_KEY
    os.environ |= {"DATA_DIR": os.devnull, "DJANGO_SETTINGS_MODULE": "scrapejobs.settings"}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    import django

    django.setup()


def run(faults: "Sequence[Fault]", *, seed: int, seconds: float | None) -> int:
    """Runs the faults, tells of each as it ends, prints the table; 1 when something is not zero that must be."""
    from rich.console import Console

    from tests.chaos.catalogue import LEFT_OUT
    from tests.chaos.rounds import run_all
    from tests.chaos.scorecard import in_words, remarks, table_of
    from tests.chaos.world import new_directory

    console, directory, scores = Console(width=WIDTH), new_directory(), []
    for score in run_all(faults, seed=seed, seconds=seconds, directory=directory):
        scores.append(score)
        state = "as promised" if score.verdict.is_clean else "[red]WRONG[/]"
        console.print(f"{score.fault.name}: {state}; {remarks(score)}", highlight=False, soft_wrap=True)
        if not score.verdict.is_clean:
            for line in in_words(score):
                console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    console.print(table_of(scores))
    for name, reason in LEFT_OUT.items():
        console.print(f"{name} was left out: {reason}", highlight=False, soft_wrap=True)
    if all(score.verdict.is_clean for score in scores):
        shutil.rmtree(directory)
        return 0
    console.print(f"logs: {directory}", highlight=False, soft_wrap=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
