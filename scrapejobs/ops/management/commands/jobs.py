import argparse
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.domain.job import PRIORITIES
from scrapejobs.ops.batches import work_through
from scrapejobs.ops.cancelling import cancel_and_tell, cancel_in_batches
from scrapejobs.ops.console import WRONG_USE, add_actions, host_argument, moment, plain_errors, whole
from scrapejobs.store.cancellation import Filter, n_unfinished
from scrapejobs.store.run import run
from scrapejobs.store.tenants import find_tenant

RUNNING = {"queued": False, "running": True, "all": None}


class Command(BaseCommand):
    help = (
        "Acts on jobs. `cancel` ends unfinished ones: those that wait are never fetched, and the connections of those "
        "that run are closed. Many at once go in batches, each committed; Ctrl-C stops after the batch under way, and "
        "the same command goes on."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        cancel = add_actions(parser).add_parser("cancel", help="ends unfinished jobs")
        cancel.add_argument("ids", nargs="*", type=UUID, metavar="ID", help="single jobs; or use filters")
        cancel.add_argument("--all", action="store_true", help="every unfinished job there is")
        cancel.add_argument("--tenant", metavar="NAME", help="of this tenant")
        cancel.add_argument("--host", type=host_argument, help="of this host, exactly")
        cancel.add_argument("--priority", choices=tuple(PRIORITIES), help="of this priority")
        cancel.add_argument("--tag", action="append", type=_tag, metavar="K=V", help="with this tag; may be repeated")
        cancel.add_argument("--status", choices=tuple(RUNNING), help="only those that wait, or that run")
        cancel.add_argument("--since", type=moment, metavar="TIME", help="taken in at this time or later")
        cancel.add_argument("--until", type=moment, metavar="TIME", help="taken in at this time or before")
        cancel.add_argument(
            "--limit", type=whole(least=1), metavar="N", help="at most so many, oldest first of each tenant"
        )
        cancel.set_defaults(act=self._cancel)

    @plain_errors
    def handle(self, **options: Any) -> None:
        options["act"](options)

    def _cancel(self, options: dict[str, Any]) -> None:
        which = _filter(options)
        names = ("tenant", "host", "priority", "tag", "status", "since", "until", "limit")
        has_filter = any(options[name] is not None for name in names)
        if bool(options["ids"]) + has_filter + options["all"] != 1:
            raise CommandError("say which: job ids, or filters, or --all", returncode=WRONG_USE)
        if options["ids"]:
            self._cancel_some(options["ids"])
        else:
            self._cancel_many(which, limit=options["limit"])

    def _cancel_some(self, ids: list[UUID]) -> None:
        cancelled = cancel_and_tell(ids)
        self.stdout.write(f"{len(cancelled)} cancelled")
        others = sorted(set(ids).difference(cancelled))
        if others:
            raise CommandError(f"not unfinished: {', '.join(map(str, others))}")

    def _cancel_many(self, which: Filter, *, limit: int | None) -> None:
        n_matching = run(n_unfinished(which))
        total = min(n_matching, limit or n_matching)
        work_through(cancel_in_batches(which, limit=limit), total=total, done="cancelled", out=self.stdout)


def _tag(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not a tag such as run=42")
    return name, value


def _filter(options: dict[str, Any]) -> Filter:
    tenant = find_tenant(options["tenant"]) if options["tenant"] is not None else None
    return Filter(
        tenant_id=tenant.pk if tenant else None,
        host=options["host"],
        priority=PRIORITIES.index(options["priority"]) if options["priority"] is not None else None,
        tags=dict(options["tag"]) if options["tag"] else None,
        since=options["since"],
        until=options["until"],
        running=RUNNING[options["status"] or "all"],
    )
