"""`python -m scrapejobs_client`: the command `scrapejobs`."""

import sys

from scrapejobs_client.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
