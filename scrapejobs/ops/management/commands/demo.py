import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from scrapejobs.ops.local.demo import demo

PIPE_WIDTH = 180


class Command(BaseCommand):
    help = (
        "The main job in one go: jobs of two tenants and three priorities are handed in, fetched from a small site "
        "on loopback, stored and downloaded. Uses the stack that runs here, or one of its own for as long as it takes."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", help="fetch this instead of the demo's own site")

    def handle(self, *_args: Any, **options: Any) -> None:
        console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
        sys.exit(demo(options["url"], console))
