"""What the views need of the settings and of the outside, built once for each process."""

from dataclasses import dataclass
from functools import cache

from django.conf import settings

from scrapejobs.adapters.bus import SyncBus
from scrapejobs.config import Config
from scrapejobs.domain.addresses import EgressPolicy


@dataclass(frozen=True, slots=True)
class Context:
    config: Config
    policy: EgressPolicy
    deny_ports: frozenset[int]
    bus: SyncBus


@cache
def context() -> Context:
    config: Config = settings.CONFIG
    return Context(
        config=config,
        policy=config.egress_policy,
        deny_ports=frozenset(config.ports_deny),
        bus=SyncBus(config.redis_url.get_secret_value()),
    )
