"""The operator's admin: what may be looked at and acted on. States change through `store.transitions` alone."""

from scrapejobs.ops.admin import (
    circuits,
    dead_letters,
    deliveries,
    hosts,
    jobs,
    keys,
    opt_outs,
    services,
    tenants,
    users,
)

__all__ = [
    "circuits",
    "dead_letters",
    "deliveries",
    "hosts",
    "jobs",
    "keys",
    "opt_outs",
    "services",
    "tenants",
    "users",
]
