from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.ops import hints
from scrapejobs.ops.batches import work_through
from scrapejobs.ops.console import (
    WRONG_USE,
    add_actions,
    host_argument,
    moment,
    plain_errors,
    print_json,
    print_table,
    whole,
)
from scrapejobs.ops.history import history_of
from scrapejobs.store import dead_letters as store
from scrapejobs.store.run import run
from scrapejobs.store.tenants import find_tenant
from scrapejobs.store.transitions import discard_all, requeue_all

GROUP_COLUMNS = ("host", "class", "code", "jobs", "first_at", "last_at")
LETTER_COLUMNS = ("id", "tenant", "host", "class", "code", "attempts", "finished_at")


class Command(BaseCommand):
    help = (
        "Works through the dead letters: failed jobs that wait for a person. `list` shows them by host, class and "
        "code, so that a hundred 401s from one host are one line; `show` tells a job's whole history; `requeue` sends "
        "jobs back with a fresh set of attempts; `discard` puts them aside. Many at once go in batches: what is "
        "interrupted can be run again and goes on."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = add_actions(parser)
        listing = actions.add_parser("list", help="shows dead letters by host, class and code")
        listing.add_argument("--jobs", action="store_true", help="one line a job instead of one a group")
        listing.add_argument("--json", action="store_true", help="as JSON")
        _add_filters(listing)
        listing.set_defaults(act=self._list)
        showing = actions.add_parser("show", help="shows one job with all its attempts, secrets masked")
        showing.add_argument("id", type=UUID, metavar="ID")
        showing.add_argument("--json", action="store_true", help="as JSON")
        showing.set_defaults(act=self._show)
        for name, act, help_text in (
            ("requeue", self._requeue, "sends jobs back with a fresh set of attempts"),
            ("discard", self._discard, "puts jobs aside: they stay failed and leave this list"),
        ):
            acting = actions.add_parser(name, help=help_text)
            acting.add_argument("ids", nargs="*", type=UUID, metavar="ID", help="single jobs; or use filters")
            acting.add_argument("--all", action="store_true", help="every dead letter there is")
            _add_filters(acting)
            acting.set_defaults(act=act)

    @plain_errors
    def handle(self, **options: Any) -> None:
        options["act"](options)

    def _list(self, options: dict[str, Any]) -> None:
        read, columns = (store.letters, LETTER_COLUMNS) if options["jobs"] else (store.groups, GROUP_COLUMNS)
        rows = run(read(_filter(options), limit=options["limit"]))
        rows = [{column: row[column] for column in columns} for row in rows]
        if options["json"]:
            print_json(self.stdout, rows)
        else:
            print_table(self.stdout, columns, [list(row.values()) for row in rows])

    def _show(self, options: dict[str, Any]) -> None:
        history = history_of(options["id"])
        if history is None:
            raise CommandError(f"there is no job {options['id']}")
        if options["json"]:
            print_json(self.stdout, history)
            return
        attempts = history.pop("attempts_made")
        print_table(self.stdout, ("field", "value"), list(history.items()))
        self.stdout.write("")
        if attempts:
            print_table(self.stdout, list(attempts[0]), [list(attempt.values()) for attempt in attempts])

    def _requeue(self, options: dict[str, Any]) -> None:
        self._act(options, requeue_all, "requeued")

    def _discard(self, options: dict[str, Any]) -> None:
        self._act(options, discard_all, "discarded")

    def _act(self, options: dict[str, Any], act: store.Act, done: str) -> None:
        which = _filter(options)
        has_filter = which != store.Filter() or options["limit"] is not None
        if bool(options["ids"]) + has_filter + options["all"] != 1:
            raise CommandError("say which: job ids, or filters, or --all", returncode=WRONG_USE)
        if options["ids"]:
            self._act_on_some(options["ids"], act, done)
        else:
            self._act_on_many(which, act, done, limit=options["limit"])

    def _act_on_some(self, ids: list[UUID], act: store.Act, done: str) -> None:
        changed = run(act(ids))
        self.stdout.write(f"{len(changed)} {done}")
        if changed and act is requeue_all:
            hints.jobs_submitted()
        others = sorted(set(ids).difference(changed))
        if others:
            raise CommandError(f"no dead letters: {', '.join(map(str, others))}")

    def _act_on_many(self, which: store.Filter, act: store.Act, done: str, *, limit: int | None) -> None:
        n_matching = sum(row["jobs"] for row in run(store.groups(which)))
        total = min(n_matching, limit or n_matching)
        try:
            work_through(store.act_in_batches(which, act, limit=limit), total=total, done=done, out=self.stdout)
        finally:
            if act is requeue_all:
                hints.jobs_submitted()


def _add_filters(parser: CommandParser) -> None:
    parser.add_argument("--host", type=host_argument, help="of this host, exactly")
    parser.add_argument("--class", dest="cls", metavar="CLASS", help="with a last error of this class: permanent ...")
    parser.add_argument("--code", help="with a last error of this code: http_401, timeout ...")
    parser.add_argument("--tenant", metavar="NAME", help="of this tenant")
    parser.add_argument("--since", type=moment, metavar="TIME", help="failed at this time or later: 2026-11-30T12:00Z")
    parser.add_argument("--until", type=moment, metavar="TIME", help="failed at this time or before")
    parser.add_argument("--limit", type=whole(least=1), metavar="N", help="at most so many")


def _filter(options: dict[str, Any]) -> store.Filter:
    tenant = find_tenant(options["tenant"]) if options["tenant"] is not None else None
    return store.Filter(
        host=options["host"],
        cls=options["cls"],
        code=options["code"],
        tenant_id=tenant.pk if tenant else None,
        since=options["since"],
        until=options["until"],
    )
