"""What a gateway knows of keys, so that it need not ask Postgres at each request, and is not wrong for that.

Every change of a key or a tenant gives Valkey a new *edition*, and each request hears the present one with its
allowance. A row that was read under another edition is read again, so a revocation holds from the next request on.
While Valkey is away nothing is known; and whatever happens, nothing for longer than `keep_s`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scrapejobs.store.run import Row

_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Known:
    """A row of `api_key/find.sql`, as it was at some time of an edition."""

    row: Row
    edition: str
    read_at: float


class KnownKeys:
    """Rows by public id."""

    def __init__(self, *, keep_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.keep_s = keep_s
        self._clock = clock
        self._rows: dict[str, Known] = {}
        self.edition: str | None = None
        """The last one heard of: what is read from now on is of this one or a later one."""

    def get(self, public_id: str) -> Known | None:
        """What is known, if it is not too old."""
        known = self._rows.get(public_id)
        return known if known is not None and self._clock() - known.read_at < self.keep_s else None

    def keep(self, public_id: str, row: Row, *, edition: str | None) -> None:
        """`edition`: one that was heard of before the row was read."""
        if edition is None:
            return
        if len(self._rows) >= _MOST:
            self._rows.clear()
        self._rows[public_id] = Known(row, edition, self._clock())
