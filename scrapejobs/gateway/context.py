"""What the views need of the settings and of the outside, built once for each process."""

from dataclasses import dataclass
from functools import cache

from django.conf import settings

from scrapejobs.adapters.bus import SyncBus
from scrapejobs.adapters.endpoints import egress_policy
from scrapejobs.adapters.job_cache import JobCache, django_connection
from scrapejobs.adapters.limiter import Limiter
from scrapejobs.config import Config
from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.gateway.known_keys import KnownKeys
from scrapejobs.store.sealing import Ring


@dataclass(frozen=True, slots=True)
class Context:
    config: Config
    policy: EgressPolicy
    bus: SyncBus
    ring: Ring
    limiter: Limiter
    known_keys: KnownKeys
    cache: JobCache


@cache
def context() -> Context:
    config: Config = settings.CONFIG
    return Context(
        config=config,
        policy=egress_policy(config),
        bus=SyncBus(config.redis_url.get_secret_value()),
        ring=Ring(config.sealing_texts),
        limiter=Limiter(config.redis_url.get_secret_value(), share=1 / config.gateways),
        known_keys=KnownKeys(keep_s=config.key_cache_s),
        cache=JobCache(django_connection),
    )
