"""Many jobs taken in at once: all that are right, in one transaction, or none (FR-3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from scrapejobs.store.ids import new_id
from scrapejobs.store.run import Copy, Row, Statement, Steps, verb
from scrapejobs.store.transitions import IdempotencyKey, KeyReused, NewJob, Submitted


@dataclass(frozen=True, slots=True)
class Item:
    """One job of a bulk, with its key if it has one. `is_barred`: it may be a repeat, and no new job."""

    job: NewJob
    key: IdempotencyKey | None
    is_barred: bool = False


@dataclass(frozen=True, slots=True)
class NoRoom:
    """As many of the tenant's jobs wait as may, or the item is barred."""

    is_barred: bool


Taken = Submitted | KeyReused | NoRoom


@dataclass(frozen=True, slots=True)
class Bulk:
    """What became of each item, in their order. `replayed`: the whole was handed in before."""

    items: list[Taken]
    replayed: bool


@verb(atomic=True)
def submit_many(
    items: Sequence[Item],
    *,
    tenant_id: int,
    ttl_s: float,
    whole: IdempotencyKey | None = None,
    room: int | None = None,
    is_counted: bool = False,
) -> Steps[Bulk | KeyReused]:
    """Takes jobs of a tenant in. `room`: for so many new ones; a repeat needs none. `whole`: the key of the bulk
    itself, which stands for the same items only. `ttl_s`: how long keys hold. `is_counted`: as jobs of today (FR-12).
    Durable when it returns.
    """
    replayed = False
    if whole is not None:
        key = {"tenant_id": tenant_id, "key": whole.key, "receipt_ttl_s": ttl_s}
        replayed = not (yield Statement("receipt/take", {**key, "fingerprint": whole.marks[0], "id": new_id()}))
        if replayed:
            (receipt,) = yield Statement("receipt/find", {"tenant_id": tenant_id, "key": whole.key})
            if bytes(receipt["fingerprint"]) not in whole.marks:
                return KeyReused()
    known: dict[str, Row] = {}
    if any(item.key for item in items):
        known = yield from _receipts(items, tenant_id=tenant_id, ttl_s=ttl_s)
    new = list(_first_of_their_keys(items, known))[:room]
    taken = yield from _insert(new, ttl_s=ttl_s, is_counted=is_counted)
    if len(taken) < len(new):  # somebody else used a key meanwhile
        receipts = yield from _receipts(items, tenant_id=tenant_id, ttl_s=ttl_s)
        known |= {key: row for key, row in receipts.items() if row["job_id"] not in taken}
    return Bulk(list(_answers(items, new, known)), replayed)


def _receipts(items: Sequence[Item], *, tenant_id: int, ttl_s: float) -> Steps[dict[str, Row]]:
    keys = [item.key.key for item in items if item.key]
    rows = yield Statement("receipt/find_many", {"tenant_id": tenant_id, "keys": keys, "receipt_ttl_s": ttl_s})
    return {row["key"]: row for row in rows}


def _first_of_their_keys(items: Sequence[Item], known: dict[str, Row]) -> Iterator[Item]:
    """The items that may be new: not barred, and their key is not used, neither before nor by an item ahead."""
    seen = set(known)
    for item in items:
        if item.is_barred:
            continue
        if item.key is None:
            yield item
        elif item.key.key not in seen:
            seen.add(item.key.key)
            yield item


def _insert(new: Sequence[Item], *, ttl_s: float, is_counted: bool) -> Steps[set[object]]:
    if not new:
        return set()
    yield Statement("incoming/create", {})
    yield Copy("incoming/copy", [_row(place, item) for place, item in enumerate(new)])
    rows = yield Statement("job/submit_many", {"receipt_ttl_s": ttl_s, "is_counted": is_counted})
    return {row["id"] for row in rows}


def _row(place: int, item: Item) -> tuple[object, ...]:
    job, key = item.job, item.key
    return (
        place, job.id, job.tenant_id, job.priority, job.url, job.host, msgspec.json.encode(job.params).decode(),
        job.sealed, job.callback_url, job.callback_sealed, msgspec.json.encode(job.tags).decode(), job.max_attempts,
        job.deadline_s, key.key if key else None, key.marks[0] if key else None,
    )  # fmt: skip


def _answers(items: Sequence[Item], new: Sequence[Item], known: dict[str, Row]) -> Iterator[Taken]:
    """What each item is answered with. Of two with one key the first speaks for both."""
    ours = {item.key.key: item for item in new if item.key and item.key.key not in known}
    without_key = {item.job.id for item in new if item.key is None}
    for item in items:
        if item.key is None:
            yield Submitted(item.job.id, replayed=False) if item.job.id in without_key else NoRoom(item.is_barred)
        elif (receipt := known.get(item.key.key)) is not None:
            is_same = bytes(receipt["fingerprint"]) in item.key.marks
            yield Submitted(receipt["job_id"], replayed=True) if is_same else KeyReused()
        elif (first := ours.get(item.key.key)) is None:
            yield NoRoom(item.is_barred)
        elif first.key is not None and first.key.marks == item.key.marks:
            yield Submitted(first.job.id, replayed=first is not item)
        else:
            yield KeyReused()
