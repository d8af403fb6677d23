from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scrapejobs.config import load
from scrapejobs.ops.console import plain_errors, print_json, print_table
from scrapejobs.ops.liveness import state_of
from scrapejobs.store.run import run
from scrapejobs.store.services import standing

COLUMNS = ("name", "role", "state", "slots", "running", "expired", "hostname", "pid", "started_at", "unseen_s")


class Command(BaseCommand):
    help = (
        "Shows the workers: slots, running jobs, leases past their end, and how long ago each was heard of. States: "
        "live; draining (takes no more jobs); silent (missed several heartbeats); unannounced (holds leases only)."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="the processes of every role")
        parser.add_argument("--json", action="store_true", help="as JSON")

    @plain_errors
    def handle(self, **options: Any) -> None:
        alive_s = load().alive_s
        rows = [
            {**row, "state": state_of(row, alive_s=alive_s)}
            for row in run(standing())
            if options["all"] or row["role"] == "worker"
        ]
        if options["json"]:
            print_json(self.stdout, rows)
        else:
            print_table(self.stdout, COLUMNS, [[row[column] for column in COLUMNS] for row in rows])
