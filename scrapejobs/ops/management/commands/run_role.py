"""`manage.py run_role ROLE`: one process of the service."""

import asyncio
import os
import socket
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Coroutine
from typing import Any, Final, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from prometheus_client import REGISTRY

from scrapejobs import failpoints
from scrapejobs.ops import gateway, stopping
from scrapejobs.ops.checks import MAKE_KEY
from scrapejobs.ops.collector import RowGauges
from scrapejobs.ops.console import WRONG_USE, whole
from scrapejobs.ops.health import Health
from scrapejobs.ops.roles import ROLES, run_loops
from scrapejobs.telemetry import log

HELP = """Runs one role of the service until SIGTERM or Ctrl-C.

roles:
  gateway     the HTTP API, docs and admin (--surface intake|query|all)
  publisher   moves accepted jobs into their queues, and writes finish events
  scheduler   picks the next jobs (one scheduler dispatches, others stand by), brings back
              expired leases and due retries, keeps partitions and retention
  worker      claims, fetches, stores and reports (--slots, --name)
  courier     delivers webhooks

Each can be started any number of times, alone, on any machine with the same settings, and
serves /metrics, /healthz and /readyz on its metrics port. On SIGTERM a role takes no new
work, ends or hands back what it has within SCRAPEJOBS_GRACE_S, and exits with 0."""


SEALS: Final = frozenset({"worker", "courier"})
"""Beside a gateway that takes jobs in: the roles that handle secrets of jobs."""

NO_KEY: Final = f"SCRAPEJOBS_SEALING_KEYS is not set: secrets of jobs are kept sealed. {MAKE_KEY}"


class Command(BaseCommand):
    help = HELP
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        return super().create_parser(prog_name, subcommand, formatter_class=RawDescriptionHelpFormatter, **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        config = settings.CONFIG
        parser.add_argument("role", choices=["gateway", *ROLES])
        parser.add_argument("--name", help="what this process is called in lists and logs (default: HOST-PID)")
        parser.add_argument("--slots", type=whole(least=1), help=f"worker: jobs at once (default: {config.slots})")
        parser.add_argument(
            "--surface",
            choices=["intake", "query", "all"],
            help=f"gateway: writes, reads, or both with docs and admin (default: {config.surface})",
        )
        parser.add_argument(
            "--metrics-port",
            type=whole(least=0, most=65_535),
            default=config.metrics_port,
            help="0: a free one (default: %(default)s)",
        )

    def handle(self, *, role: str, metrics_port: int, **options: Any) -> None:
        for option, whose in (("slots", "worker"), ("surface", "gateway")):
            if options[option] is not None and role != whose:
                raise CommandError(f"--{option} is an option of the {whose}", returncode=WRONG_USE)
        name = options["name"] or f"{socket.gethostname()}-{os.getpid()}"
        log.configure(role=role, service=name)
        config = settings.CONFIG
        try:
            failpoints.arm(config.failpoint)
        except failpoints.UnknownFailpoint as error:
            raise CommandError(str(error), returncode=WRONG_USE) from error
        config = config.model_copy(update={"surface": options["surface"] or config.surface})
        if not config.sealing_keys and (role in SEALS or (role == "gateway" and config.surface != "query")):
            raise CommandError(NO_KEY, returncode=WRONG_USE)
        try:
            if role == "gateway":
                gateway.serve(config, name=name, metrics_port=metrics_port)
            else:
                slots = options["slots"] or config.slots
                self._run_loops(role, config, name=name, slots=slots, metrics_port=metrics_port)
        except OSError as error:
            raise CommandError(f"{role}: {error}") from error
        stopping.ignore()
        sys.stdout.flush()

    def _run_loops(self, role: str, config: Any, *, name: str, slots: int, metrics_port: int) -> None:
        if role == "scheduler":
            url = config.database_url.get_secret_value()
            REGISTRY.register(RowGauges(url, alive_s=config.alive_s))
        health = Health()
        config = config.model_copy(update={"metrics_port": health.serve(config.bind, metrics_port)})
        asyncio.run(_until_stopped(run_loops(role, config, name=name, slots=slots, health=health)))


async def _until_stopped(role: Coroutine[Any, Any, None]) -> NoReturn:
    """Ends the process within the event loop, which would wait for its threads."""
    await role
    stopping.end()
