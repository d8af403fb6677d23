from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.ops.console import WRONG_USE, plain_errors, print_json, print_table, whole
from scrapejobs.simulation.engine import simulate
from scrapejobs.simulation.report import COLUMNS, Report, report_of
from scrapejobs.simulation.scenario import ScenarioError, read, shipped


class Command(BaseCommand):
    help = (
        "Lives through a scenario on virtual time, with the picker that the dispatcher uses and no database: who gets "
        "which share, and who waits how long. Fails when the scenario's expectations are not met. Without a name it "
        "lists the scenarios that come with the product."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("scenario", nargs="?", metavar="NAME|FILE", help="a shipped scenario, or a TOML file")
        parser.add_argument("--seed", type=whole(least=0), help="another seed for all that is random")
        parser.add_argument("--json", action="store_true", help="as JSON")

    @plain_errors
    def handle(self, **options: Any) -> None:
        try:
            if options["scenario"] is None:
                self._list(as_json=options["json"])
                return
            scenario = read(options["scenario"], seed=options["seed"])
            report = report_of(scenario, simulate(scenario))
        except ScenarioError as error:
            raise CommandError(str(error), returncode=WRONG_USE) from None
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
