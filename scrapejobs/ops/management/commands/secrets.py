from collections.abc import Iterator
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.ops.batches import work_through
from scrapejobs.ops.checks import MAKE_KEY
from scrapejobs.ops.console import WRONG_USE, add_actions, plain_errors, print_json, print_table
from scrapejobs.store.resealing import RESEAL, seals
from scrapejobs.store.run import Row, run
from scrapejobs.store.sealing import Ring

BATCH: Final = 500


class Command(BaseCommand):
    help = (
        "Looks after the secrets of jobs, which are sealed with SCRAPEJOBS_SEALING_KEYS. `status` counts what is "
        "sealed with which key; `rotate` seals everything with the first key, also what no earlier version had sealed."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = add_actions(parser)
        status = actions.add_parser("status", help="counts what is sealed, by key; exit 1 when a key is missing")
        status.add_argument("--json", action="store_true", help="as JSON")
        status.set_defaults(act=self._status)
        rotate = actions.add_parser("rotate", help="seals everything with the first key")
        rotate.set_defaults(act=self._rotate)

    @plain_errors
    def handle(self, **options: Any) -> None:
        ring = Ring(settings.CONFIG.sealing_texts)
        if not ring.ids:
            raise CommandError(f"SCRAPEJOBS_SEALING_KEYS is not set. {MAKE_KEY}", returncode=WRONG_USE)
        options["act"](ring, options)

    def _status(self, ring: Ring, options: dict[str, Any]) -> None:
        rows = [{**row, "standing": _standing(ring, row["key"])} for row in run(seals())]
        if options["json"]:
            print_json(self.stdout, rows)
        else:
            columns = ("what", "key", "n", "standing")
            print_table(self.stdout, columns, [[row[column] for column in columns] for row in rows])
        if n := sum(row["n"] for row in rows if row["standing"] == "missing"):
            raise CommandError(f"{n} are sealed with a key that SCRAPEJOBS_SEALING_KEYS lacks")

    def _rotate(self, ring: Ring, options: dict[str, Any]) -> None:  # noqa: ARG002 - as the other action
        unreadable: list[int] = []
        total = _n_to_seal(ring)
        work_through(_batches(ring, unreadable), total=total, done="sealed with the first key", out=self.stdout)
        if n := sum(unreadable):
            raise CommandError(f"{n} cannot be read with any key of SCRAPEJOBS_SEALING_KEYS, and were left as they are")
        if n := _n_to_seal(ring):
            raise CommandError(f"{n} are left, held by somebody at that moment: run it again")


def _standing(ring: Ring, key: str) -> str:
    ids = [key_id.hex() for key_id in ring.ids]
    return "missing" if key not in ids else "first" if key == ids[0] else "to be rotated"


def _n_to_seal(ring: Ring) -> int:
    """How many are sealed with another key. Receipts are left out: they end by themselves, within a day."""
    return sum(row["n"] for row in run(seals()) if row["what"] != "receipts" and _is_old(ring, row))


def _is_old(ring: Ring, row: Row) -> bool:
    return bool(row["key"] != ring.ids[0].hex())


def _batches(ring: Ring, unreadable: list[int]) -> Iterator[int]:
    for reseal in RESEAL:
        after = None
        while True:
            done = run(reseal(ring, after=after, limit=BATCH))
            unreadable.append(done.n_unreadable)
            yield done.n_sealed
            if done.last is None:
                break
            after = done.last
