"""Makes the servers of a local stack ready for the roles: tables, bucket, an administrator, an API key.

A process of its own, because it needs Django's settings, which need the servers. `python -m
scrapejobs.ops.local.prepare` reads the `Access` known so far as JSON on stdin and prints it, completed, on stdout.
"""

import json
import sys
from dataclasses import asdict, replace

import django

from scrapejobs.adapters.storage import object_store
from scrapejobs.config import load_or_exit
from scrapejobs.ops.local.data_dir import Access

TENANT = "default"
ADMINISTRATOR = "admin"


def main() -> None:
    known = Access(**json.load(sys.stdin))
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False, stdout=sys.stderr)
    object_store(load_or_exit()).ensure_bucket()
    ensure_administrator(known.admin_password)
    json.dump(asdict(replace(known, api_key=ensure_key(known.api_key))), sys.stdout)


def ensure_administrator(password: str) -> None:
    """Make the administrator if there is none; one that is there keeps the password that it has."""
    from django.contrib.auth.models import User

    if not User.objects.filter(username=ADMINISTRATOR).exists():
        User.objects.create_superuser(ADMINISTRATOR, password=password)


def ensure_key(known: str) -> str:
    """The known API key if this database honours it, else a new one of the default tenant."""
    from scrapejobs.store.keys import SCOPES, find, issue_key, parse_key
    from scrapejobs.store.run import run
    from scrapejobs.store.tenants import ensure_tenant

    credential = parse_key(known)
    if credential is not None:
        row = run(find(credential.public_id))
        if row is not None and bytes(row["secret_sha256"]) == credential.sha256:
            return known
    return str(issue_key(ensure_tenant(TENANT), SCOPES)[1])


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scrapejobs.settings")
    main()
