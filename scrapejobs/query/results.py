"""Results leave by signed links alone (FR-8); that the object is there is asked first."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final
from uuid import UUID

from scrapejobs.adapters.storage import ObjectStore, StorageUnavailable, object_store
from scrapejobs.config import Config
from scrapejobs.domain.job import Status
from scrapejobs.gateway.context import context
from scrapejobs.gateway.problems import Problem
from scrapejobs.query.rendering import kept_until, status_of
from scrapejobs.query.selectors import row_of
from scrapejobs.query.shapes import ResultLink
from scrapejobs.telemetry import events

LOOK_S: Final = 3.0
RETRY_AFTER_S: Final = 2


def link_to(job_id: UUID, *, tenant_id: int) -> ResultLink:
    """A link to a job's result. Raises `Problem`: not ready, none, gone, or not to be found out now."""
    row, config = row_of(job_id, tenant_id=tenant_id), context().config
    status = status_of(row)
    if not status.is_final:
        raise Problem("result-not-ready", f"the job is {status}", headers={"Retry-After": str(RETRY_AFTER_S)})
    if status is not Status.SUCCEEDED:
        raise Problem("no-result", f"the job has {status}" if status is Status.FAILED else "the job was cancelled")
    now = datetime.now(UTC)
    if now >= kept_until(job_id, config.retention_days):
        raise Problem("result-expired")
    if not _is_there(row["result_key"], config):
        events.result_missing(job_id)
        raise Problem("result-expired")
    return ResultLink(
        url=_signer().presign_get(row["result_key"], expires_s=config.link_ttl_s, filename=str(job_id)),
        expires_at=now + timedelta(seconds=int(config.link_ttl_s)),
        size=row["result_size"],
        content_type=row["result_content_type"],
        sha256=row["result_sha256"],
    )


def _is_there(key: str, config: Config) -> bool:
    """One look with a connection of its own, since this thread has no event loop that could keep one."""

    async def look() -> Any:
        store = object_store(config)
        try:
            async with asyncio.timeout(LOOK_S):
                return await store.head(key)
        finally:
            await store.close()

    try:
        return asyncio.run(look()) is not None
    except (StorageUnavailable, TimeoutError):
        detail = "the object store does not answer"
        raise Problem("unavailable", detail, headers={"Retry-After": str(RETRY_AFTER_S)}) from None


@cache
def _signer() -> ObjectStore:
    return object_store(context().config)
