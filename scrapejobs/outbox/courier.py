"""Delivers finish events to callback URLs, until they arrive or the schedule ends (FR-9)."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol
from uuid import UUID

from scrapejobs import failpoints
from scrapejobs.domain.webhook import body_of, next_try_s
from scrapejobs.store import deliveries, endpoints
from scrapejobs.store.deliveries import Try
from scrapejobs.store.endpoints import Endpoint, OffRule, endpoint_of
from scrapejobs.store.link import Link
from scrapejobs.store.sealing import NO_KEYS, Damaged, KeyMissing, Ring, open_callback
from scrapejobs.telemetry import events

CLAIM_MARGIN_S: Final = 15.0
SHARE: Final = 5
"""One origin has at most a fifth of the hands, so that one that hangs does not hold the others (case S5)."""
GONE: Final = 410
RELEASE_S: Final = 2.0
OFF_AFTER_FAILURES: Final = 10
"""Fewer say too little about an endpoint that is seldom called."""

failpoints.declare("post", "done")


class Answer(Protocol):
    """How a receiver took an event; see `adapters.webhook_client`."""

    @property
    def status(self) -> int | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def retry_after_s(self) -> float | None: ...
    @property
    def is_success(self) -> bool: ...


class Post(Protocol):
    """Posts an event once, signed with each of the secrets."""

    async def __call__(self, url: str, *, event_id: str, secrets: Sequence[str], body: bytes) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Hands:
    """How many deliveries a courier makes at once, how long one may take, and when an endpoint is given up."""

    at_once: int
    timeout_s: float
    off_after_s: float

    @property
    def claim_s(self) -> float:
        """A claim outlasts a try, so two couriers do not post one event at once."""
        return self.timeout_s + CLAIM_MARGIN_S

    @property
    def per_origin(self) -> int:
        return max(1, self.at_once // SHARE)


class Courier:
    """Takes due deliveries as far as it has hands free, and never waits for a slow receiver to take the next ones
    (case S5). Each try is a row before it is sent.
    """

    name = "courier"
    wakes_on = frozenset({"delivery", "hand"})

    def __init__(
        self,
        link: Link,
        post: Post,
        ring: Ring = NO_KEYS,
        *,
        hands: Hands,
        poll_s: float,
        signal: Callable[[str], None],
    ) -> None:
        self._link = link
        self._post = post
        self._ring = ring
        self._hands = hands
        self._rule = OffRule(OFF_AFTER_FAILURES, hands.off_after_s)
        self._poll_s = poll_s
        self._signal = signal
        self._tasks: dict[asyncio.Task[None], str] = {}
        self._claiming = asyncio.Lock()
        self.draining = False

    async def tick(self) -> float:
        async with self._claiming:
            free = self._hands.at_once - len(self._tasks)
            if free <= 0 or self.draining:
                return self._poll_s
            due = deliveries.claim_deliveries(
                limit=free,
                claim_s=self._hands.claim_s,
                per_origin=self._hands.per_origin,
                busy=list(self._tasks.values()),
            )
            for row in await self._link.run(due):
                task = asyncio.create_task(self._deliver(row))
                self._tasks[task] = row["origin"]
                task.add_done_callback(self._ended)
        return self._poll_s

    async def drain(self, *, grace_s: float) -> None:
        """Lets the posts under way end, those of a claim in flight too; what does not end is released, so that another
        courier makes it at once.
        """
        self.draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                async with self._claiming:
                    tasks = list(self._tasks)
                if tasks:
                    await asyncio.wait(tasks)
        for task in (left := list(self._tasks)):
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=RELEASE_S)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()):
            events.loop_failed(self.name, error)  # its claim ends, and it is tried again
        self._signal("hand")

    async def _deliver(self, row: dict[str, Any]) -> None:
        began = time.monotonic()
        try:
            await self._try(row, began)
        except asyncio.CancelledError:
            await self._release(row, "courier_stopped", began, delay_s=0.0)
            raise

    async def _try(self, row: dict[str, Any], began: float) -> None:
        try:
            url = open_callback(self._ring, row)
        except KeyMissing:  # a courier with the key may have it
            events.secrets_unreadable(row["job_id"], code="secrets_locked")
            await self._release(row, "secrets_locked", began, delay_s=None)
            return
        except Damaged:
            events.secrets_unreadable(row["job_id"], code="secrets_damaged")
            await self._note(row, Try("given_up", 0.0, error="secrets_damaged"), None)
            return
        endpoint = endpoint_of(url, tenant_id=row["tenant_id"], origin=row["origin"], ring=self._ring)
        if not row["by_hand"] and await self._link.run(endpoints.is_off(endpoint)):
            await self._note(row, Try("given_up", 0.0, error="endpoint_off"), endpoint)
            return
        secrets = [secret for secret in (row["webhook_secret"], row["secret_old"]) if secret]
        body = body_of(row["job_id"], status=row["status"], finished_at=row["finished_at"])
        answer = await self._post(url, event_id=str(row["event_id"]), secrets=secrets, body=body)
        failpoints.reach("post", "done")
        await self._settle(row, endpoint, answer, time.monotonic() - began)

    async def _settle(self, row: dict[str, Any], endpoint: Endpoint, answer: Answer, duration_s: float) -> None:
        delay_s = None
        if answer.is_success:
            if await self._link.run(endpoints.recovered(endpoint)):
                events.endpoint_switched_on(endpoint.tenant_id, origin=endpoint.origin)
        else:
            is_gone = answer.status == GONE
            reason = await self._link.run(endpoints.failed(endpoint, is_gone=is_gone, rule=self._rule))
            if reason:
                events.endpoint_switched_off(endpoint.tenant_id, origin=endpoint.origin, reason=reason)
            if not is_gone:
                delay_s = next_try_s(row["charged"], retry_after_s=answer.retry_after_s)
        state: deliveries.State = "delivered" if answer.is_success else "pending" if delay_s is not None else "given_up"
        ended = Try(state, duration_s, status=answer.status, error=answer.error, delay_s=delay_s)
        await self._note(row, ended, endpoint)

    async def _note(self, row: dict[str, Any], ended: Try, endpoint: Endpoint | None) -> None:
        event_id: UUID = row["event_id"]
        mark = endpoint.marks[0] if endpoint else None
        await self._link.run(
            deliveries.note_delivery(event_id, number=row["number"], ended=ended, endpoint=mark),
        )
        outcome: Literal["delivered", "retry", "given_up"] = "retry" if ended.state == "pending" else ended.state
        events.delivery_tried(row["job_id"], event_id, outcome=outcome, status=ended.status, error=ended.error)

    async def _release(self, row: dict[str, Any], error: str, began: float, *, delay_s: float | None) -> None:
        spent_s = time.monotonic() - began
        await self._link.run(
            deliveries.release_delivery(
                row["event_id"], number=row["number"], error=error, duration_s=spent_s, delay_s=delay_s
            )
        )
