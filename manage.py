#!/usr/bin/env python
"""Every role and every command starts here: `manage.py help`."""

import os
import sys

# These start the servers that the settings of all other commands need, so they do without.
BEFORE_SETTINGS = {"up", "demo"}

HELP = {"help", "-h", "--help"}
NO_SERVERS = {  # for what reaches none: who reads how to start, or tries a scenario, may have none yet
    "DATABASE_URL": "postgresql://127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "S3_ENDPOINT_URL": "http://127.0.0.1:1",
    "S3_ACCESS_KEY_ID": "none",
    "S3_SECRET_ACCESS_KEY": "none",
    "SCRAPEJOBS_SECRET_KEY": "none",
}


def reads_files_alone(arguments: list[str]) -> bool:
    """Whether it is a simulation that asks no database."""
    return arguments[0] == "simulate" and not any(argument.startswith("--rep") for argument in arguments)


def main() -> None:
    if sys.argv[1:2] == ["run_role"]:
        from scrapejobs.ops.stopping import end_at_once

        end_at_once()
    from django.conf import settings
    from django.core.management import execute_from_command_line

    if BEFORE_SETTINGS.intersection(sys.argv[1:2]):
        settings.configure(INSTALLED_APPS=["scrapejobs.ops"], LOGGING_CONFIG=None)
    else:
        if HELP.intersection(sys.argv) or not sys.argv[1:] or reads_files_alone(sys.argv[1:]):
            os.environ.update(NO_SERVERS | os.environ)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scrapejobs.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
