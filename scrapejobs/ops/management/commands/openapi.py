"""`manage.py openapi`: the contract as a file."""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from scrapejobs.gateway import openapi, yaml


class Command(BaseCommand):
    help = "Writes docs/reference/openapi.yaml from the code."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's form
        routes = import_module(settings.ROOT_URLCONF).SURFACES["all"]
        target = settings.BASE_DIR.parent / "docs" / "reference" / "openapi.yaml"
        target.write_text(yaml.dump(openapi.document(routes)), encoding="utf-8")
        self.stdout.write(f"wrote {target}")
