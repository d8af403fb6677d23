import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.ops import hints
from scrapejobs.ops.console import WRONG_USE, add_actions, number, or_none, plain_errors, print_json, print_table, whole
from scrapejobs.store.models import Tenant
from scrapejobs.store.tenants import (
    SECRET_OVERLAP_S,
    SETTABLE,
    add_tenant,
    change_tenant,
    find_tenant,
    rotate_webhook_secret,
)


class Command(BaseCommand):
    help = (
        "Lists tenants, adds one, sets a tenant's share and quotas, rotates the secret of its webhooks. Changes hold "
        "within a second or so."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = add_actions(parser)
        listing = actions.add_parser("list", help="shows the tenants and their limits")
        listing.add_argument("--json", action="store_true", help="as JSON")
        listing.set_defaults(act=self._list)
        adding = actions.add_parser("add", help="adds a tenant, without limits")
        adding.add_argument("name", metavar="NAME")
        adding.set_defaults(act=self._add)
        setting = actions.add_parser("set", help="changes limits", description="`none` takes a limit away.")
        setting.add_argument("name", metavar="NAME")
        _add_limits(setting)
        setting.set_defaults(act=self._set)
        secret = actions.add_parser("secret", help="shows or rotates the secret that signs a tenant's webhooks")
        secret.add_argument("what", choices=("show", "rotate"), help="rotate: the old one signs beside the new one")
        secret.add_argument("name", metavar="NAME")
        secret.add_argument(
            "--overlap", type=number(least=0), metavar="S", default=SECRET_OVERLAP_S,
            help="for so many seconds both sign; a day unless given",
        )  # fmt: skip
        secret.set_defaults(act=self._secret)

    @plain_errors
    def handle(self, **options: Any) -> None:
        options["act"](options)

    def _list(self, options: dict[str, Any]) -> None:
        rows = list(Tenant.objects.values("name", *SETTABLE, "created_at"))
        if options["json"]:
            print_json(self.stdout, rows)
        else:
            print_table(self.stdout, ("name", *SETTABLE, "created"), [list(row.values()) for row in rows])

    def _add(self, options: dict[str, Any]) -> None:
        tenant = add_tenant(options["name"])
        self.stdout.write(f"{tenant.name} is added; `manage.py create_key --tenant NAME` issues its first key")

    def _secret(self, options: dict[str, Any]) -> None:
        name = options["name"]
        is_shown = options["what"] == "show"
        secret = (
            find_tenant(name).webhook_secret if is_shown else rotate_webhook_secret(name, overlap_s=options["overlap"])
        )
        self.stdout.write(secret)

    def _set(self, options: dict[str, Any]) -> None:
        changes = {name: options[name] for name in SETTABLE if name in options}
        if not changes:
            raise CommandError(
                "nothing to set: give one or more limits, see `tenants set --help`", returncode=WRONG_USE
            )
        change_tenant(options["name"], changes)
        hints.limits_changed()
        hints.keys_changed()
        self.stdout.write(f"{options['name']} is changed")


def _add_limits(parser: CommandParser) -> None:
    for flag, kind, help_text in (
        ("--weight", number(above=0), "share of the workers beside other tenants"),
        ("--rate", or_none(number(above=0)), "API requests a second, or none"),
        ("--burst", or_none(number(least=1)), "API requests at once, or none"),
        ("--daily", or_none(whole(least=0)), "jobs a day, or none"),
        ("--max-running", or_none(whole(least=1)), "jobs in progress at once, or none"),
        ("--max-queued", or_none(whole(least=0)), "jobs waiting at once, or none"),
    ):
        parser.add_argument(flag, type=kind, help=help_text, metavar="N", default=argparse.SUPPRESS)
    obeying = parser.add_argument_group("robots.txt")
    for flag, value, help_text in (
        ("--robots", True, "all of its jobs obey robots.txt"),
        ("--no-robots", False, "they do so when they ask for it, or the settings do"),
    ):
        obeying.add_argument(
            flag, dest="robots", action="store_const", const=value, help=help_text, default=argparse.SUPPRESS
        )
