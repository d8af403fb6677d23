"""The real object store, as the adapter reaches it."""

import hashlib
import io
import os
from datetime import UTC, datetime, timedelta

from scrapejobs.adapters.storage import ObjectStore


def object_store(
    endpoint: str, *, bucket: str | None = None, secret: str | None = None, ahead: timedelta = timedelta()
) -> ObjectStore:
    """`ahead`: of the true time, this machine's clock."""
    return ObjectStore(
        endpoint,
        bucket=bucket or os.environ["S3_BUCKET"],
        region="us-east-1",
        key=os.environ["S3_ACCESS_KEY_ID"],
        secret=secret or os.environ["S3_SECRET_ACCESS_KEY"],
        clock=lambda: datetime.now(UTC) + ahead,
    )


async def put(store: ObjectStore, key: str, data: bytes, *, content_type: str | None = None) -> None:
    sha256 = hashlib.sha256(data).hexdigest()
    await store.put(key, io.BytesIO(data), size=len(data), sha256=sha256, content_type=content_type)
