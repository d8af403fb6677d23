from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.ops import hints
from scrapejobs.ops.console import add_actions, plain_errors, print_json, print_table
from scrapejobs.store.keys import KeyNotFoundError, keys_of, revoke_key


class Command(BaseCommand):
    help = "Lists and revokes API keys. `create_key` issues them."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = add_actions(parser)
        listing = actions.add_parser("list", help="shows the keys, without their secrets")
        listing.add_argument("--tenant", metavar="NAME", help="only this tenant's")
        listing.add_argument("--json", action="store_true", help="as JSON")
        listing.set_defaults(act=self._list)
        revoking = actions.add_parser("revoke", help="takes a key out of force, at once and for good")
        revoking.add_argument("id", metavar="ID", help="the key's id, as `keys list` shows it: no secret is needed")
        revoking.set_defaults(act=self._revoke)

    @plain_errors
    def handle(self, **options: Any) -> None:
        try:
            options["act"](options)
        except KeyNotFoundError as error:
            raise CommandError(str(error)) from None

    def _list(self, options: dict[str, Any]) -> None:
        rows = [
            {
                "id": key.public_id,
                "tenant": key.tenant.name,
                "scopes": key.scopes,
                "created_at": key.created_at,
                "revoked_at": key.revoked_at,
            }
            for key in keys_of(options["tenant"])
        ]
        if options["json"]:
            print_json(self.stdout, rows)
        else:
            columns = ("id", "tenant", "scopes", "created", "revoked")
            print_table(self.stdout, columns, [_cells(row) for row in rows])

    def _revoke(self, options: dict[str, Any]) -> None:
        key = revoke_key(options["id"])
        hints.keys_changed()
        self.stdout.write(f"{key.public_id} of {key.tenant.name} is revoked")


def _cells(row: dict[str, Any]) -> list[object]:
    return list({**row, "scopes": " ".join(row["scopes"])}.values())
