"""Delivers finish events to callback URLs, until they arrive or the schedule ends (FR-9)."""

import asyncio
from collections.abc import Callable
from datetime import UTC
from typing import Any, Final, Literal, Protocol

import msgspec

from scrapejobs import failpoints
from scrapejobs.domain.webhook import next_try_s
from scrapejobs.store import deliveries
from scrapejobs.store.link import Link
from scrapejobs.store.sealing import NO_KEYS, Damaged, KeyMissing, Ring, open_callback
from scrapejobs.telemetry import events

CLAIM_MARGIN_S: Final = 15.0
SHARE: Final = 5
"""One endpoint has at most a fifth of the hands, so that one that hangs does not hold the others (case S5)."""

failpoints.declare("post", "done")

State = Literal["pending", "delivered", "given_up"]


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
    """Posts a signed event once."""

    async def __call__(self, url: str, *, event_id: str, secret: str, body: bytes) -> Answer: ...


class Courier:
    """Takes due deliveries as far as it has hands free, and never waits for a slow receiver to take the next ones
    (case S5). A claim outlasts a try, so two couriers do not post one event at once.
    """

    name = "courier"
    wakes_on = frozenset({"delivery", "hand"})

    def __init__(
        self,
        link: Link,
        post: Post,
        ring: Ring = NO_KEYS,
        *,
        at_once: int,
        timeout_s: float,
        poll_s: float,
        signal: Callable[[str], None],
    ) -> None:
        self._link = link
        self._post = post
        self._ring = ring
        self._at_once = at_once
        self._claim_s = timeout_s + CLAIM_MARGIN_S
        self._poll_s = poll_s
        self._signal = signal
        self._per_endpoint = max(1, at_once // SHARE)
        self._tasks: dict[asyncio.Task[None], str] = {}
        self.draining = False

    async def tick(self) -> float:
        free = self._at_once - len(self._tasks)
        if free <= 0 or self.draining:
            return self._poll_s
        due = deliveries.claim_deliveries(
            limit=free,
            claim_s=self._claim_s,
            per_endpoint=self._per_endpoint,
            busy=list(self._tasks.values()),
        )
        for row in await self._link.run(due):
            task = asyncio.create_task(self._deliver(row))
            self._tasks[task] = row["endpoint"]
            task.add_done_callback(self._ended)
        return self._poll_s

    async def drain(self, *, grace_s: float) -> None:
        """Lets the posts under way end; those that do not are tried again by another courier."""
        self.draining = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)
        for task in list(self._tasks):
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()):
            events.loop_failed(self.name, error)  # its claim ends, and it is tried again
        self._signal("hand")

    async def _deliver(self, row: dict[str, Any]) -> None:
        event_id = row["event_id"]
        try:
            url = open_callback(self._ring, row)
        except KeyMissing:  # no try: its claim ends, and a courier with the key may have it
            events.secrets_unreadable(row["job_id"], code="secrets_locked")
            return
        except Damaged:
            events.secrets_unreadable(row["job_id"], code="secrets_damaged")
            await self._note(row, "given_up", error="the callback URL cannot be read any more")
            return
        answer = await self._post(url, event_id=str(event_id), secret=row["webhook_secret"], body=body_of(row))
        failpoints.reach("post", "done")
        state: State = "delivered"
        delay_s = None
        if not answer.is_success:
            delay_s = next_try_s(row["tries"] + 1, retry_after_s=answer.retry_after_s)
            state = "pending" if delay_s is not None else "given_up"
        await self._note(row, state, status=answer.status, error=answer.error, delay_s=delay_s)

    async def _note(
        self,
        row: dict[str, Any],
        state: State,
        *,
        status: int | None = None,
        error: str | None = None,
        delay_s: float | None = None,
    ) -> None:
        noted = deliveries.note_delivery(
            row["event_id"], tries=row["tries"], state=state, status=status, error=error, delay_s=delay_s
        )
        await self._link.run(noted)
        outcome: Literal["delivered", "retry", "given_up"] = "retry" if state == "pending" else state
        events.delivery_tried(row["job_id"], row["event_id"], outcome=outcome, status=status)


def body_of(row: dict[str, Any]) -> bytes:
    """The thin body of api.md: the receiver asks for the rest, with its key."""
    self_ = f"/jobs/{row['job_id']}"
    body = {
        "id": row["job_id"],
        "status": row["status"],
        "finished_at": row["finished_at"].astimezone(UTC),
        "links": {"self": self_, "result": f"{self_}/result", "attempts": f"{self_}/attempts"},
    }
    return msgspec.json.encode(body)
