"""The database's clock: the only one (ADR-0005)."""

from datetime import UTC, date, datetime

from scrapejobs.store.run import Statement, Steps, verb


@verb()
def now() -> Steps[datetime]:
    """What time it is."""
    rows = yield Statement("clock/now", {})
    moment: datetime = rows[0]["now"]
    return moment


@verb()
def today() -> Steps[date]:
    """What day it is, in UTC."""
    rows = yield Statement("clock/now", {})
    moment: datetime = rows[0]["now"]
    return moment.astimezone(UTC).date()
