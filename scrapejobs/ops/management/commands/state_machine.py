from typing import Any

from django.core.management.base import BaseCommand

from scrapejobs.ops.state_chart import markdown


class Command(BaseCommand):
    help = "Prints docs/state-machine.md: the states of a job and the verbs between them."
    requires_system_checks = ()

    def handle(self, **_options: Any) -> None:
        self.stdout.write(markdown(), ending="")
