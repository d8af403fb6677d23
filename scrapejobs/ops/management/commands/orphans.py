import argparse
import asyncio
from datetime import date
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.adapters.storage import StorageUnavailable, object_store
from scrapejobs.ops.console import plain_errors, print_json, print_table
from scrapejobs.ops.progress import shown_progress
from scrapejobs.scheduler.orphans import Seen, Walk
from scrapejobs.store.link import Link


class Command(BaseCommand):
    help = (
        "Looks through the bucket for orphans: objects that no job names and no attempt can name any more, left behind "
        "by workers that died or lost their lease. Schedulers remove them by themselves, slowly; this does it now. "
        "Objects of jobs that the database does not know are counted and left alone."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--remove", action="store_true", help="removes the orphans; without it they are only shown")
        parser.add_argument("--day", type=_day, metavar="D", help="only objects of jobs of this UTC day: 2026-11-30")
        parser.add_argument("--json", action="store_true", help="as JSON")

    @plain_errors
    def handle(self, **options: Any) -> None:
        try:
            found = asyncio.run(_look(options["day"], remove=options["remove"]))
        except StorageUnavailable as error:
            raise CommandError(f"{error}\n`manage.py doctor` says more") from None
        if options["json"]:
            print_json(self.stdout, found)
        else:
            print_table(self.stdout, list(found), [list(found.values())])


async def _look(day: date | None, *, remove: bool) -> dict[str, int]:
    config = settings.CONFIG
    found = {"objects": 0, "orphans": 0, "bytes": 0, "removed": 0, "unknown": 0}
    with shown_progress("objects", total=None) as advance:
        async with Link(config.database_url.get_secret_value()) as link:
            walk = Walk(link, object_store(config), keep_days=config.retention_days, remove=remove)
            async for seen in walk.pages(prefix=f"{day.isoformat()}/" if day else ""):
                _add(found, seen, remove=remove)
                advance(seen.n_objects)
    return found


def _add(found: dict[str, int], seen: Seen, *, remove: bool) -> None:
    found["objects"] += seen.n_objects
    found["orphans"] += len(seen.orphans)
    found["bytes"] += sum(one.size for one in seen.orphans)
    found["removed"] += len(seen.orphans) if remove else 0
    found["unknown"] += seen.n_unknown


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day such as 2026-11-30") from None
