"""What the loops are told when a person has changed something: hints over the bus, never needed (ADR-0014)."""

from functools import cache

from scrapejobs.adapters.bus import SyncBus
from scrapejobs.adapters.limiter import Limiter
from scrapejobs.config import load


@cache
def bus() -> SyncBus:
    """This process's sender of hints."""
    return SyncBus(load().redis_url.get_secret_value())


def limits_changed() -> None:
    """The dispatcher reads hosts and tenants again."""
    bus().wake("limits")


@cache
def _limiter() -> Limiter:
    return Limiter(load().redis_url.get_secret_value(), share=1.0)


def keys_changed() -> None:
    """Gateways read keys and tenants again."""
    _limiter().keys_changed()


def jobs_submitted() -> None:
    """The publisher looks for unpublished jobs."""
    bus().wake("submitted")
