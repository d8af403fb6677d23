"""Finds and removes orphans: objects that no job names and no attempt can name any more (ADR-0019)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from scrapejobs.adapters.storage import Page, StorageUnavailable, StoredObject
from scrapejobs.store import clock
from scrapejobs.store.link import Link
from scrapejobs.store.orphans import orphans
from scrapejobs.telemetry import events

PAGE_REST_S: Final = 5.0
WALK_REST_S: Final = 3600.0
AWAY_REST_S: Final = 60.0


class Objects(Protocol):
    """The part of the object store that a walk needs."""

    def list_page(self, *, prefix: str, after: str) -> Page: ...

    def delete_all(self, keys: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Seen:
    """One page of the bucket: how many objects it has, its orphans, how many are of jobs that the database does not
    know, and where the next page starts.
    """

    n_objects: int
    orphans: tuple[StoredObject, ...]
    n_unknown: int
    after: str | None


@dataclass(frozen=True, slots=True)
class Walk:
    """A way through the bucket, page by page. `keep_days`: of retention; `remove` False only looks."""

    link: Link
    objects: Objects
    keep_days: int
    remove: bool

    async def page(self, *, after: str = "", prefix: str = "") -> Seen:
        """Looks at the next page behind a key. The objects are listed first and judged then: whoever stored one had
        its lease before. Raises `StorageUnavailable` and `psycopg.OperationalError`.
        """
        page = await asyncio.to_thread(self.objects.list_page, prefix=prefix, after=after)
        kept_from = await self.link.run(clock.today()) - timedelta(days=self.keep_days)
        judged = await self.link.run(orphans([one.key for one in page.objects], kept_from=kept_from))
        found = tuple(one for one in page.objects if one.key in judged.orphans)
        if found and self.remove:
            await asyncio.to_thread(self.objects.delete_all, [one.key for one in found])
        return Seen(len(page.objects), found, len(judged.unknown), page.after)

    async def pages(self, *, prefix: str = "") -> AsyncIterator[Seen]:
        """Every page of the bucket, or of the keys that begin so."""
        after: str | None = ""
        while after is not None:
            seen = await self.page(after=after, prefix=prefix)
            yield seen
            after = seen.after


class Orphans:
    """Walks the bucket for ever, a page of 1000 objects a tick, and removes what is orphaned. Safe to run twice: what
    is an orphan stays one, and to delete what is gone is no error.

    Bounded by its rests: at the 12 million objects that 30 days of 400,000 jobs leave, a walk is 12,000 pages of one
    listing and one statement of index probes, 5 s apart: 17 hours, and 0.2 requests a second. A process begins with
    yesterday, for orphans are made young: so a scheduler that lives shorter than a walk finds them too.

    A scheduler is ready without the object store: the first tick only rests, and while the store is away a page is
    tried again once a minute.
    """

    name = "orphans"
    wakes_on: frozenset[str] = frozenset()

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._after: str | None = None
        self._n_unknown = 0

    async def tick(self) -> float:
        if self._after is None:
            self._after = (await self._walk.link.run(clock.today()) - timedelta(days=1)).isoformat()
            return PAGE_REST_S
        try:
            seen = await self._walk.page(after=self._after)
        except StorageUnavailable as error:
            events.loop_failed(self.name, error)
            return AWAY_REST_S
        return self._rest_after(seen)

    def _rest_after(self, seen: Seen) -> float:
        self._n_unknown += seen.n_unknown
        if seen.orphans:
            events.orphans_removed(len(seen.orphans), bytes=sum(one.size for one in seen.orphans))
        if seen.after is not None:
            self._after = seen.after
            return PAGE_REST_S
        if self._n_unknown:
            events.objects_unknown(self._n_unknown)
        self._after, self._n_unknown = "", 0
        return WALK_REST_S
