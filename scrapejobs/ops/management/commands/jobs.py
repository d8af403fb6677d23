import argparse
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.domain.job import PRIORITIES
from scrapejobs.ops.batches import stopped_by_ctrl_c
from scrapejobs.ops.cancelling import cancel_and_tell
from scrapejobs.ops.console import INTERRUPTED, WRONG_USE, add_actions, host_argument, moment, plain_errors, whole
from scrapejobs.ops.progress import shown_progress
from scrapejobs.store.cancellation import BATCH, Filter, unfinished
from scrapejobs.store.run import run
from scrapejobs.store.tenants import TenantNotFoundError, find_tenant

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
        cancel.add_argument("--limit", type=whole(least=1), metavar="N", help="at most so many, oldest first")
        cancel.set_defaults(act=self._cancel)

    @plain_errors
    def handle(self, **options: Any) -> None:
        try:
            options["act"](options)
        except TenantNotFoundError as error:
            raise CommandError(str(error)) from None

    def _cancel(self, options: dict[str, Any]) -> None:
        which = _filter(options)
        names = ("tenant", "host", "priority", "tag", "status", "since", "until", "limit")
        has_filter = any(options[name] is not None for name in names)
        if bool(options["ids"]) + has_filter + options["all"] != 1:
            raise CommandError("say which: job ids, or filters, or --all", returncode=WRONG_USE)
        if not options["ids"]:
            self._cancel_in_batches(run(unfinished(which, limit=options["limit"])))
            return
        others = sorted(set(options["ids"]).difference(self._cancel_in_batches(options["ids"])))
        if others:
            raise CommandError(f"not unfinished: {', '.join(map(str, others))}")

    def _cancel_in_batches(self, ids: list[UUID]) -> list[UUID]:
        cancelled: list[UUID] = []
        n_seen = 0
        try:
            with stopped_by_ctrl_c() as stop, shown_progress("cancelled", total=len(ids)) as advance:
                while n_seen < len(ids) and not stop.asked:
                    batch = ids[n_seen : n_seen + BATCH]
                    cancelled += cancel_and_tell(batch)
                    n_seen += len(batch)
                    advance(len(batch))
        finally:
            self.stdout.write(f"{len(cancelled)} cancelled")
        if n_seen < len(ids):
            raise CommandError("stopped; run the same command again to go on", returncode=INTERRUPTED)
        return cancelled


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
