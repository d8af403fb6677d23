"""`manage.py run_role ROLE`: one process of the service."""

import asyncio
import os
import socket
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from prometheus_client import REGISTRY

from scrapejobs.ops import gateway
from scrapejobs.ops.collector import RowGauges
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


class Command(BaseCommand):
    help = HELP
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        return super().create_parser(prog_name, subcommand, formatter_class=RawDescriptionHelpFormatter, **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        config = settings.CONFIG
        parser.add_argument("role", choices=["gateway", *ROLES])
        parser.add_argument("--name", help="what this process is called in lists and logs (default: HOST-PID)")
        parser.add_argument(
            "--slots", type=int, default=config.slots, help="worker: jobs at once (default: %(default)s)"
        )
        parser.add_argument(
            "--surface",
            choices=["intake", "query", "all"],
            default=config.surface,
            help="gateway: writes, reads, or both with docs and admin (default: %(default)s)",
        )
        parser.add_argument(
            "--metrics-port", type=int, default=config.metrics_port, help="0: a free one (default: %(default)s)"
        )

    def handle(self, *, role: str, slots: int, surface: str, metrics_port: int, **options: Any) -> None:
        if slots < 1:
            raise CommandError("--slots: at least 1", returncode=2)
        name = options["name"] or f"{socket.gethostname()}-{os.getpid()}"
        log.configure(role=role, service=name)
        config = settings.CONFIG.model_copy(update={"surface": surface})
        try:
            if role == "gateway":
                gateway.serve(config, name=name, metrics_port=metrics_port)
            else:
                self._run_loops(role, config, name=name, slots=slots, metrics_port=metrics_port)
        except OSError as error:
            raise CommandError(f"{role}: {error}") from error
        sys.stdout.flush()

    def _run_loops(self, role: str, config: Any, *, name: str, slots: int, metrics_port: int) -> None:
        if role == "scheduler":
            url = config.database_url.get_secret_value()
            REGISTRY.register(RowGauges(url, alive_s=config.alive_s))
        health = Health()
        health.serve(config.bind, metrics_port)
        asyncio.run(run_loops(role, config, name=name, slots=slots, health=health))
        health.close()
