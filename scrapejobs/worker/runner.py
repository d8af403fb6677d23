"""One attempt: fetch, store, see that it can be read. It ends with an outcome; what becomes of that is not ours."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from scrapejobs import failpoints
from scrapejobs.adapters.answer import Expectation
from scrapejobs.adapters.fetcher import Fetched, Fetcher, FetchRequest
from scrapejobs.adapters.storage import ObjectStore, StorageUnavailable
from scrapejobs.domain.evidence import kept_headers, secrets_of
from scrapejobs.domain.ids import object_key
from scrapejobs.domain.masking import masked_hop
from scrapejobs.domain.outcome import Exchange, Outcome, Stored, StoredResult, failure
from scrapejobs.store.sealing import NO_KEYS, Damaged, KeyMissing, Ring, open_request
from scrapejobs.telemetry import events

failpoints.declare("fetch", "begin", "done")

_STORE_AGAIN_S: Final = (0.2, 5.0)


class Runner(Protocol):
    """Carries out attempts; raises only what is a bug, or CancelledError when broken off."""

    async def run(self, claimed: dict[str, Any]) -> Outcome: ...

    async def forget(self, key: str) -> None: ...


class FetchRunner:
    """Fetches with the guarded fetcher and stores in the object store."""

    def __init__(
        self,
        fetcher: Fetcher,
        store: ObjectStore,
        permit: Callable[[int, str], Awaitable[None]],
        ring: Ring = NO_KEYS,
    ) -> None:
        """`permit` returns when the attempt of that fence may send a further request, or one that is late, to the host
        of that key; `ring` opens the secrets of jobs.
        """
        self._fetcher = fetcher
        self._ring = ring
        self._store = store
        self._permit = permit

    async def run(self, claimed: dict[str, Any]) -> Outcome:
        give_up_at = asyncio.get_running_loop().time() + claimed["remaining_s"]
        try:
            request = request_of(open_request(self._ring, claimed))
        except KeyMissing:
            return _unreadable(claimed, "secrets_locked")
        except Damaged:
            return _unreadable(claimed, "secrets_damaged")
        failpoints.reach("fetch", "begin")
        fetched = await self._fetcher.fetch(
            request, permit=partial(self._permit, claimed["seq"]), send_by=claimed["send_by"]
        )
        failpoints.reach("fetch", "done")
        if not isinstance(fetched, Fetched):
            return fetched
        key = object_key(job_id=claimed["job_id"], tenant_id=claimed["tenant_id"], seq=claimed["seq"])
        began_at = asyncio.get_running_loop().time()
        with fetched.body:
            if not await self._keep(key, fetched, give_up_at=give_up_at):
                return failure("store_unavailable", phase="store", exchange=_stored_since(began_at, fetched.exchange))
        return Stored(_result(key, fetched, request), _stored_since(began_at, fetched.exchange))

    async def forget(self, key: str) -> None:
        """Removes an orphan. One that cannot be removed now is found by the scheduler (ADR-0019)."""
        with suppress(StorageUnavailable):
            await self._store.delete(key)

    async def _keep(self, key: str, fetched: Fetched, *, give_up_at: float) -> bool:
        """Stores the bytes, trying for as long as the lease holds and the deadline is ahead: a fault of our own is no
        reason to fetch again. `succeeded` may be said only of what can be read (P3), hence the look afterwards.
        """
        delay_s, cap_s = _STORE_AGAIN_S
        while True:
            try:
                fetched.body.seek(0)
                await self._store.put(
                    key, fetched.body, size=fetched.size, sha256=fetched.sha256, content_type=fetched.content_type
                )
                if await self._store.head(key) == fetched.size:
                    return True
                events.store_unavailable(key, "the object cannot be read back")
            except StorageUnavailable as error:
                events.store_unavailable(key, str(error))
            if asyncio.get_running_loop().time() >= give_up_at:
                return False
            await asyncio.sleep(delay_s * (0.5 + random.random()))  # noqa: S311 - jitter, no secret
            delay_s = min(delay_s * 2, cap_s)


def _unreadable(claimed: dict[str, Any], code: str) -> Outcome:
    events.secrets_unreadable(claimed["job_id"], code=code)
    return failure(code, phase="dns")  # nothing was sent: any method may be tried again


def _stored_since(began_at: float, exchange: Exchange) -> Exchange:
    seconds = asyncio.get_running_loop().time() - began_at
    return replace(exchange, phase="store", timings={**exchange.timings, "store": seconds})


def request_of(claimed: dict[str, Any]) -> FetchRequest:
    """What to fetch, from a row of `ready/claim.sql` that is open. The job's deadline bounds the attempt."""
    params = claimed["params"]
    headers, body = dict(params["headers"]), params["body"]
    content: bytes | None = body.encode() if body is not None else None
    if params["json"] is not None:
        content = msgspec.json.encode(params["json"]["value"])
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
    expect = params["expect"]
    return FetchRequest(
        url=claimed["url"],
        method=params["method"],
        headers=headers,
        query=params["query"],
        body=content,
        timeout_s=max(min(params["timeout_s"], claimed["remaining_s"]), 0.1),
        max_bytes=params["max_bytes"],
        follow_redirects=params["follow_redirects"],
        accept_statuses=frozenset(params["accept_statuses"]),
        expect=Expectation(**expect) if expect else None,
        robots=params.get("robots", False),
    )


def _result(key: str, fetched: Fetched, request: FetchRequest) -> StoredResult:
    secrets = secrets_of(request.url, headers=request.headers, query=request.query)
    return StoredResult(
        key=key,
        size=fetched.size,
        sha256=fetched.sha256,
        content_type=fetched.content_type,
        charset=fetched.charset,
        headers=kept_headers(fetched.headers, secrets=secrets),
        final_url=masked_hop(fetched.final_url),
        status=fetched.status,
        complete=fetched.complete,
        flags=fetched.flags,
    )
