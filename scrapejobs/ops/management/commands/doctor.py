from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.config import load
from scrapejobs.ops.console import cell, plain_errors, print_json
from scrapejobs.ops.doctor import Finding, examine


class Command(BaseCommand):
    help = (
        "Checks the settings, PostgreSQL with its tables and clock, Valkey, the object store, and that every role "
        "lives; says what to do about what is wrong. Exit 1 when something is."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="as JSON")

    @plain_errors
    def handle(self, **options: Any) -> None:
        findings = []
        for finding in examine(load()):
            findings.append(finding)
            if not options["json"]:
                self._say(finding)
        if options["json"]:
            print_json(self.stdout, [{**asdict(finding), "ok": not finding.is_wrong} for finding in findings])
        n_wrong = sum(finding.is_wrong for finding in findings)
        if n_wrong:
            raise CommandError(f"{n_wrong} of {len(findings)} need attention")

    def _say(self, finding: Finding) -> None:
        word = self.style.ERROR("wrong") if finding.is_wrong else self.style.SUCCESS("ok   ")
        self.stdout.write(f"{word}  {finding.what:<12}  {cell(finding.found)}")
        if finding.advice:
            self.stdout.write(f"{'':21}{self.style.WARNING('-> ' + finding.advice)}")
