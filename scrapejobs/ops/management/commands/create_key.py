from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scrapejobs.ops.console import plain_errors
from scrapejobs.store.keys import SCOPES, issue_key
from scrapejobs.store.tenants import ensure_tenant


class Command(BaseCommand):
    help = (
        "Issues an API key for a tenant and prints it, alone, on stdout. It is shown this once: only a hash is kept. "
        "To rotate a key, issue a new one, put it to use, then revoke the old one with `keys revoke`."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--tenant", required=True, metavar="NAME", help="whose key; made, without limits, if there is none"
        )
        parser.add_argument(
            "--scope", action="append", choices=SCOPES, help="what it may do; may be repeated; everything unless given"
        )

    @plain_errors
    def handle(self, **options: Any) -> None:
        _, credential = issue_key(ensure_tenant(options["tenant"]), options["scope"] or SCOPES)
        self.stdout.write(str(credential))
