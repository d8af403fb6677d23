from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.ops.batches import work_through
from scrapejobs.ops.console import WRONG_USE, add_actions, moment, plain_errors, print_json, print_table, whole
from scrapejobs.ops.redelivering import redeliver_and_tell, redeliver_in_batches
from scrapejobs.store import endpoints
from scrapejobs.store.clock import now
from scrapejobs.store.deliveries import Filter, n_matching
from scrapejobs.store.models import Endpoint
from scrapejobs.store.run import run
from scrapejobs.store.tenants import find_tenant

COLUMNS = ("id", "tenant__name", "origin", "failing_since", "failures", "off_at", "reason")


class Command(BaseCommand):
    help = (
        "Acts on webhooks. `redeliver` sends finish events again, under their ids and signed afresh. Many go in "
        "batches, each committed; Ctrl-C stops after the batch under way, and the same command goes on. `endpoints` "
        "lists receivers that fail, `switch-on` lets those that were switched off have events again."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = add_actions(parser)
        again = actions.add_parser("redeliver", help="sends finish events again")
        again.add_argument(
            "ids", nargs="*", type=UUID, metavar="ID", help="single events, by webhook-id; or use filters"
        )
        again.add_argument("--status", choices=("given_up", "delivered", "pending"), help="given_up unless said")
        again.add_argument("--tenant", metavar="NAME", help="of this tenant")
        again.add_argument("--origin", metavar="ORIGIN", help="to receivers at this origin, as https://me.example")
        again.add_argument("--since", type=moment, metavar="TIME", help="of events at this time or later")
        again.add_argument("--until", type=moment, metavar="TIME", help="of events at this time or before")
        again.add_argument("--limit", type=whole(least=1), metavar="N", help="at most so many, oldest first")
        again.add_argument("--all", action="store_true", help="all that were given up")
        again.set_defaults(act=self._redeliver)
        listing = actions.add_parser("endpoints", help="shows receivers that take no events at present")
        listing.add_argument("--json", action="store_true", help="as JSON")
        listing.set_defaults(act=self._endpoints)
        on = actions.add_parser("switch-on", help="lets receivers that were switched off have events again")
        on.add_argument("ids", nargs="+", type=whole(least=1), metavar="ID", help="as `deliveries endpoints` shows it")
        on.set_defaults(act=self._switch_on)

    @plain_errors
    def handle(self, **options: Any) -> None:
        options["act"](options)

    def _redeliver(self, options: dict[str, Any]) -> None:
        names = ("status", "tenant", "origin", "since", "until", "limit")
        has_filter = any(options[name] is not None for name in names)
        if bool(options["ids"]) + has_filter + options["all"] != 1:
            raise CommandError("say which: event ids, or filters, or --all", returncode=WRONG_USE)
        if options["ids"]:
            self._redeliver_some(options["ids"])
            return
        which, limit = _filter(options), options["limit"]
        n = run(n_matching(which))
        total = min(n, limit or n)
        work_through(redeliver_in_batches(which, limit=limit), total=total, done="sent again", out=self.stdout)

    def _redeliver_some(self, ids: list[UUID]) -> None:
        sent = redeliver_and_tell(ids)
        self.stdout.write(f"{len(sent)} sent again")
        others = sorted(set(ids).difference(sent))
        if others:
            raise CommandError(f"no such delivery: {', '.join(map(str, others))}")

    def _endpoints(self, options: dict[str, Any]) -> None:
        rows = [dict(zip(_NAMES, row, strict=True)) for row in Endpoint.objects.values_list(*COLUMNS)]
        if options["json"]:
            print_json(self.stdout, rows)
        else:
            print_table(self.stdout, _NAMES, [list(row.values()) for row in rows])

    def _switch_on(self, options: dict[str, Any]) -> None:
        n = run(endpoints.switch_on(options["ids"]))
        self.stdout.write(f"{n} switched on")
        if n < len(set(options["ids"])):
            raise CommandError("the others are not there: they take events")


_NAMES = tuple(column.removesuffix("__name") for column in COLUMNS)


def _filter(options: dict[str, Any]) -> Filter:
    tenant = find_tenant(options["tenant"]) if options["tenant"] is not None else None
    return Filter(
        state=options["status"] or "given_up",
        until=options["until"] or run(now()),
        tenant_id=tenant.pk if tenant else None,
        origin=options["origin"].lower().rstrip("/") if options["origin"] else None,
        since=options["since"],
    )
