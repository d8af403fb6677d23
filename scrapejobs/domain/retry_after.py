"""The Retry-After header in seconds (RFC 9110, section 10.2.3)."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,18}")
# Section 5.6.7: IMF-fixdate, RFC 850 and asctime. `parsedate_to_datetime` alone would take far more.
_HTTP_DATE = re.compile(
    r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT"
    r"|[A-Z][a-z]{5,8}, [0-9]{2}-[A-Z][a-z]{2}-[0-9]{2} [0-9:]{8} GMT"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4}"
)


def parse_retry_after(value: str, *, now: datetime) -> float | None:
    """How long the target asks to be left alone, in seconds from `now`: 0 for the past, None for nonsense.

    The planner, not this function, holds the answer between its own backoff and its cap (NFR-6).
    """
    value = value.strip(" \t")
    if _SECONDS.fullmatch(value):
        return float(value)
    if not _HTTP_DATE.fullmatch(value):
        return None
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    # asctime names no zone, but RFC 9110 says it is GMT too.
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return max(0.0, (at - now).total_seconds())
