"""How many slots will be free soon, by how many have become free of late."""

import math
from typing import Final

SOON_S: Final = 0.05
MEMORY_S: Final = 0.5
"""Of what ended so long ago a third (1/e) still counts."""


class Turnover:
    """The rate at which attempts end, as an exponential mean. Of long jobs hardly any end within `SOON_S`, so nothing
    is made ready for slots that are not free; of short ones many do, and workers need not wait for the next pass.
    """

    def __init__(self, *, now: float) -> None:
        self._at = now
        self._a_second = 0.0

    def ended(self, n: int, *, now: float) -> None:
        """`n` attempts have ended since the last call."""
        passed_s = now - self._at
        if passed_s > 0:
            self._at = now
            self._a_second += (n / passed_s - self._a_second) * -math.expm1(-passed_s / MEMORY_S)

    def soon(self) -> int:
        """How many slots will become free within `SOON_S`, rounded down."""
        return int(self._a_second * SOON_S)
