import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scrapejobs.ops import hints
from scrapejobs.ops.console import (
    WRONG_USE,
    add_actions,
    host_argument,
    number,
    or_none,
    plain_errors,
    print_json,
    print_table,
    whole,
)
from scrapejobs.store import circuits, hosts, opt_outs
from scrapejobs.store.run import run


class Command(BaseCommand):
    help = (
        "Lists target hosts that have limits, a pause or an open circuit, and changes them. HOST is a name or an "
        "address in any spelling, or *.domain for every name below it; what a host's row leaves open is taken from the "
        "next wider row, in the end from the settings. Changes hold within a second or so."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = add_actions(parser)
        listing = actions.add_parser("list", help="shows hosts with limits, a pause or an open circuit")
        listing.add_argument("--json", action="store_true", help="as JSON")
        listing.set_defaults(act=self._list)
        setting = actions.add_parser("set", help="changes limits", description="`none` takes a limit away.")
        _add_limits(setting)
        pausing = actions.add_parser("pause", help="starts no more jobs of a host; what runs goes on")
        pausing.add_argument(
            "--for", dest="for_s", type=number(above=0), metavar="S", help="seconds; until `resume` unless given"
        )
        resuming = actions.add_parser("resume", help="ends a host's pause, also one that the host asked for")
        resetting = actions.add_parser(
            "reset-circuit",
            help="lets jobs start again at a host that failed many times in a row",
            description="Closes the circuit of a host that failed many times in a row. A pause stays: see `resume`.",
        )
        opting_out, opting_in = self._add_opt_outs(actions)
        for action, act in (
            (setting, self._set),
            (pausing, self._pause),
            (resuming, self._resume),
            (opting_out, self._opt_out),
            (opting_in, self._opt_in),
            (resetting, self._reset_circuit),
        ):
            action.add_argument("host", metavar="HOST", type=host_argument)
            action.set_defaults(act=act)

    def _add_opt_outs(self, actions: Any) -> tuple[CommandParser, CommandParser]:
        listing = actions.add_parser("opt-outs", help="shows the hosts that are not fetched")
        listing.add_argument("--json", action="store_true", help="as JSON")
        listing.set_defaults(act=self._opt_outs)
        opting_out = actions.add_parser("opt-out", help="fetches a host no more, because its owner does not want it")
        opting_out.add_argument("--reason", default="", metavar="TEXT", help="who asked, and when")
        opting_in = actions.add_parser("opt-in", help="takes a host off the list of those that are not fetched")
        return opting_out, opting_in

    @plain_errors
    def handle(self, **options: Any) -> None:
        options["act"](options)

    def _list(self, options: dict[str, Any]) -> None:
        rows = run(hosts.listing())
        if options["json"]:
            print_json(self.stdout, rows)
        else:
            columns = ("host", *hosts.LIMITS, "paused until", "reason", "circuit open until", "after", "learned share")
            print_table(self.stdout, columns, [list(row.values()) for row in rows])

    def _set(self, options: dict[str, Any]) -> None:
        changes = {name: options[name] for name in hosts.LIMITS if name in options}
        if not changes:
            raise CommandError("nothing to set: give --rate, --burst or --concurrency", returncode=WRONG_USE)
        hosts.set_limits(options["host"], changes)
        self._changed(f"{options['host']} is changed")

    def _pause(self, options: dict[str, Any]) -> None:
        run(hosts.pause(options["host"], for_s=options["for_s"]))
        how_long = f"for {options['for_s']:g} s" if options["for_s"] else "until it is resumed"
        self._changed(f"{options['host']} is paused {how_long}")

    def _resume(self, options: dict[str, Any]) -> None:
        was_paused = run(hosts.resume(options["host"]))
        self._changed(f"{options['host']} {'is resumed' if was_paused else 'was not paused'}")

    def _reset_circuit(self, options: dict[str, Any]) -> None:
        was_open = run(circuits.reset(options["host"]))
        self._changed(f"the circuit of {options['host']} {'is closed' if was_open else 'was not open'}")

    def _opt_out(self, options: dict[str, Any]) -> None:
        run(opt_outs.opt_out(options["host"], reason=options["reason"]))
        self._changed(f"{options['host']} is not fetched any more")

    def _opt_in(self, options: dict[str, Any]) -> None:
        was_out = run(opt_outs.opt_in(options["host"]))
        self._changed(f"{options['host']} {'may be fetched again' if was_out else 'was not on the list'}")

    def _opt_outs(self, options: dict[str, Any]) -> None:
        rows = run(opt_outs.listing())
        if options["json"]:
            print_json(self.stdout, rows)
        else:
            print_table(self.stdout, ("host", "reason", "since"), [list(row.values()) for row in rows])

    def _changed(self, text: str) -> None:
        hints.limits_changed()
        self.stdout.write(text)


def _add_limits(parser: CommandParser) -> None:
    for flag, kind, help_text in (
        ("--rate", or_none(number(above=0)), "requests a second, or none"),
        ("--burst", or_none(number(least=1)), "requests at once after a quiet time, or none"),
        ("--concurrency", or_none(whole(least=1)), "simultaneous connections, or none"),
    ):
        parser.add_argument(flag, type=kind, help=help_text, metavar="N", default=argparse.SUPPRESS)
