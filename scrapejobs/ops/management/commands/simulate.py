import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.ops.console import WRONG_USE, number, or_none, plain_errors, print_json, print_table, whole
from scrapejobs.ops.replay import replay
from scrapejobs.simulation.engine import simulate, simulate_jobs
from scrapejobs.simulation.page import page_of
from scrapejobs.simulation.record import Record
from scrapejobs.simulation.report import COLUMNS, Report, report_of
from scrapejobs.simulation.scenario import Scenario, ScenarioError, changed, read, shipped

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONGEST_S = 30 * UNITS["d"]


class Command(BaseCommand):
    help = (
        "Lives through a scenario, or the last hours from the database, on virtual time with the picker that the "
        "dispatcher uses: who gets which share, and who waits how long. Fails when the scenario's expectations are not "
        "met. Without a name it lists the scenarios that come with the product."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group()
        source.add_argument("scenario", nargs="?", metavar="NAME|FILE", help="a shipped scenario, or a TOML file")
        source.add_argument("--replay", type=span, metavar="TIME", help="the jobs of the last 90s, 30m, 24h or 7d")
        parser.add_argument("--slots", type=whole(least=1), help="other slots than the scenario's or the workers'")
        parser.add_argument(
            "--weight", action="append", default=[], type=named(number(above=0)), metavar="TENANT=N",
            help="another weight of a tenant",
        )  # fmt: skip
        parser.add_argument(
            "--host-rate", action="append", default=[], type=named(or_none(number(above=0))), metavar="HOST=N",
            help="another rate of a host, or none",
        )  # fmt: skip
        parser.add_argument("--seed", type=whole(least=0), help="another seed for all that is random")
        parser.add_argument("--html", type=Path, metavar="FILE", help="writes a page with charts, too")
        parser.add_argument("--json", action="store_true", help="as JSON")

    @plain_errors
    def handle(self, **options: Any) -> None:
        try:
            if options["scenario"] is None and options["replay"] is None:
                self._list(as_json=options["json"])
                return
            scenario, record = _lived(options)
        except ScenarioError as error:
            raise CommandError(str(error), returncode=WRONG_USE) from None
        report = report_of(scenario, record)
        if options["html"] is not None:
            _write(options["html"], page_of(scenario, record, report))
        if options["json"]:
            print_json(self.stdout, report)
        else:
            self._print(report)
        if unmet := sum(not finding.is_met for finding in report.expectations):
            raise CommandError(f"{unmet} of {len(report.expectations)} expectations not met")

    def _list(self, *, as_json: bool) -> None:
        rows = [{"name": name, "title": read(name).title} for name in shipped()]
        if as_json:
            print_json(self.stdout, rows)
        else:
            print_table(self.stdout, ("name", "title"), [list(row.values()) for row in rows])

    def _print(self, report: Report) -> None:
        self.stdout.write(f"{report.title}\n{report.summary}\n")
        rows = [[getattr(row, column) for column in COLUMNS] for row in report.rows]
        print_table(self.stdout, COLUMNS, rows)
        self.stdout.write("")
        findings = [[f.is_met, f.expected, f.found] for f in report.expectations]
        print_table(self.stdout, ("met", "expected", "found"), findings)


def _lived(options: dict[str, Any]) -> tuple[Scenario, Record]:
    changes = {
        "seed": options["seed"],
        "slots": options["slots"],
        "weights": dict(options["weight"]),
        "rates": dict(options["host_rate"]),
    }
    if options["replay"] is None:
        scenario = changed(read(options["scenario"]), **changes)
        return scenario, simulate(scenario)
    scenario, jobs = replay(options["replay"], slots=options["slots"])
    scenario = changed(scenario, **changes)
    return scenario, simulate_jobs(scenario, jobs)


def _write(file: Path, page: str) -> None:
    try:
        file.write_text(page, "utf-8")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None


def span(text: str) -> float:
    """An argument that is a time span such as 24h, in seconds."""
    match = re.fullmatch(r"(\d{1,9})([smhd])", text, re.ASCII)
    seconds = int(match[1]) * UNITS[match[2]] if match else 0
    if not 0 < seconds <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 30m, 24h or 7d, and at most 30d")
    return seconds


def named(kind: Callable[[str], Any]) -> Callable[[str], tuple[str, Any]]:
    """An argument NAME=VALUE; a name may hold a `=`."""

    def parse(text: str) -> tuple[str, Any]:
        name, equals, value = text.rpartition("=")
        if not (name and equals):
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
        return name, kind(value)

    return parse
