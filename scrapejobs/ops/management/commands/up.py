import sys
from typing import Any

from django.core.management.base import BaseCommand

from scrapejobs.ops.local.up import up


class Command(BaseCommand):
    help = (
        "The local stack: PostgreSQL, Valkey and S3 (unless DATABASE_URL, REDIS_URL, S3_ENDPOINT_URL name others), "
        "migrations, every role as a process. Settings: PORT, WORKERS, DATA_DIR. Ctrl-C drains and stops all."
    )
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        sys.exit(up())
