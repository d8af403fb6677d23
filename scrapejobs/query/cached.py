"""GET of a single job through the cache: cache-aside, filled by the read side alone (ADR-0033)."""

import time
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

import msgspec

from scrapejobs.adapters.job_cache import Entry, JobCache
from scrapejobs.config import Config
from scrapejobs.domain.job import Status
from scrapejobs.gateway.problems import Problem
from scrapejobs.query import selectors
from scrapejobs.query.rendering import kept_until
from scrapejobs.store.run import Row
from scrapejobs.telemetry import events

LOOKS: Final = 5
LOOK_EVERY_S: Final = 0.01
"""A reader that finds another one filling waits for so long, and then asks Postgres itself."""

_CHANGELESS: Final = frozenset({Status.SUCCEEDED, Status.CANCELLED})


def read_job(job_id: UUID, *, tenant_id: int, config: Config, cache: JobCache) -> Entry:
    """The answer about a job, from the cache or from Postgres. Raises `Problem` not-found, which is never kept."""
    if config.job_cache_s == 0:
        return _fresh(job_id, tenant_id, config)[0]
    found = cache.look(job_id)
    for _ in range(LOOKS if found == "wait" else 0):
        time.sleep(LOOK_EVERY_S)
        found = cache.look(job_id)
        if found != "wait":
            break
    if isinstance(found, Entry):
        events.job_read("cache", age_s=max(0.0, time.time() - found.read_at))
        if found.tenant_id != tenant_id:
            raise Problem("not-found")
        return found
    events.job_read("fill" if found == "fill" else "database")
    return _filled(job_id, tenant_id, config, cache) if found == "fill" else _fresh(job_id, tenant_id, config)[0]


def _filled(job_id: UUID, tenant_id: int, config: Config, cache: JobCache) -> Entry:
    """Reads and keeps. What may change is kept until `job_cache_s` after its rows were read, not after it was kept:
    however slow this reader is, what it says is not older.
    """
    began = time.monotonic()
    try:
        entry, row = _fresh(job_id, tenant_id, config)
    except Problem:
        cache.pass_on(job_id)
        raise
    is_settled = row["final_state"] in _CHANGELESS and not row["is_leased"]
    left_s = config.job_cache_s - (time.monotonic() - began)
    if is_settled:
        left_s = (kept_until(job_id, config.retention_days) - datetime.now(UTC)).total_seconds()
    cache.keep(job_id, entry, ttl_s=left_s, is_settled=is_settled)
    return entry


def _fresh(job_id: UUID, tenant_id: int, config: Config) -> tuple[Entry, Row]:
    read_at = time.time()
    row = selectors.row_of(job_id, tenant_id=tenant_id)
    job = selectors.rendered([row], tenant_id, config)[0]
    body = msgspec.json.encode(job)
    entry = Entry(
        tenant_id=tenant_id,
        etag=f'"{sha256(body).hexdigest()[:32]}"',
        is_final=Status(job.status).is_final,
        again_at=job.next_attempt_at,
        read_at=read_at,
        body=msgspec.Raw(body),
    )
    return entry, row
