"""How long to rest before a call is repeated: growing, spread by chance, and never sooner than the server asked."""

import random
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

FIRST_S: Final = 0.25
LONGEST_S: Final = 15.0
SPREAD_S: Final = 0.5


class Pauses:
    """The pauses of one call that is repeated for at most `for_s` seconds."""

    def __init__(self, for_s: float) -> None:
        self._until = time.monotonic() + for_s
        self._n = 0

    def next_s(self, asked_s: float | None) -> float | None:
        """Seconds to rest; None when the time is up, or would be after the rest that the server asked for."""
        most = min(LONGEST_S, FIRST_S * 2**self._n)
        self._n += 1
        by_chance = random.uniform(0, most)  # noqa: S311 - spreads clients, keeps no secret
        rest = by_chance if asked_s is None else asked_s + min(by_chance, SPREAD_S)
        return rest if time.monotonic() + rest < self._until else None


def retry_after_s(value: str | None, *, now: datetime | None = None) -> float | None:
    """A Retry-After (RFC 9110, 10.2.3) in seconds from now; None for none, and for what cannot be read."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
