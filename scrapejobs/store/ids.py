"""New ids: the one place where chance and the clock of this process make one."""

import secrets
import time
from uuid import UUID

from scrapejobs.domain.ids import uuid7


def new_id() -> UUID:
    """A UUIDv7 of now."""
    return uuid7(unix_ms=time.time_ns() // 1_000_000, random_bits=secrets.randbits(74))
