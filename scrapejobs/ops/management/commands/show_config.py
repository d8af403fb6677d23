import os
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scrapejobs.config import load
from scrapejobs.ops.console import plain_errors, print_json, print_table
from scrapejobs.ops.settings_page import in_force, markdown


class Command(BaseCommand):
    help = "Shows every setting with its value in force and where it comes from; secrets are masked."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="as JSON")
        form.add_argument(
            "--markdown",
            action="store_true",
            help="the page docs/reference/settings.md: meanings and defaults, no values",
        )

    @plain_errors
    def handle(self, **options: Any) -> None:
        if options["markdown"]:
            self.stdout.write(markdown(), ending="")
            return
        settings = in_force(load(), os.environ)
        if options["json"]:
            print_json(self.stdout, settings)
        else:
            rows = [(s["setting"], s["value"], s["source"]) for s in settings]
            print_table(self.stdout, ("setting", "value", "from"), rows)
