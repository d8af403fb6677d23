#!/usr/bin/env python
"""Every role and every command starts here: `manage.py help`."""

import os
import sys

# These start the servers that the settings of all other commands need, so they do without.
BEFORE_SETTINGS = {"up", "demo"}


def main() -> None:
    from django.conf import settings
    from django.core.management import execute_from_command_line

    if BEFORE_SETTINGS.intersection(sys.argv[1:2]):
        settings.configure(INSTALLED_APPS=["scrapejobs.ops"], LOGGING_CONFIG=None)
    else:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scrapejobs.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
