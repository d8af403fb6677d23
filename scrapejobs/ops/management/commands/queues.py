from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scrapejobs.ops.console import plain_errors, print_json, print_table
from scrapejobs.store import depths
from scrapejobs.store.run import Row, run


class Command(BaseCommand):
    help = "Shows how much is queued, by tenant and by host, as the scheduler has last counted it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="as JSON")

    @plain_errors
    def handle(self, **options: Any) -> None:
        found = run(depths.read())
        if options["json"]:
            print_json(self.stdout, [found] if found else [])
        elif found is None:
            self.stdout.write("nothing was counted yet: no scheduler has run")
        else:
            self._show(found)

    def _show(self, found: Row) -> None:
        oldest = found["oldest_runnable_s"]
        waited = "none may start now" if oldest is None else f"the oldest that may start has waited {oldest:.0f} s"
        self.stdout.write(f"{found['queued']} queued, {waited} (counted {found['age_s']:.0f} s ago)")
        for kind in ("tenant", "host"):
            rows = [[one["name"], one["n"], one["oldest_at"]] for one in found[f"{kind}s"]]
            print_table(self.stdout, (kind, "queued", "oldest"), rows)
