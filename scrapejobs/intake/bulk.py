"""Many jobs in one request: each is taken or refused by itself, and what is right is taken as a whole (FR-3).

As one JSON document, or as lines of JSON. Of a longer stream of lines the front makes requests of `MAX_ITEMS` lines.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from scrapejobs.gateway import strict_json
from scrapejobs.gateway.context import Context
from scrapejobs.gateway.lines import MAX_LINE_BYTES, MAX_LINES_AT_ONCE
from scrapejobs.gateway.problems import Mistake, Problem, invalid
from scrapejobs.gateway.reading import KEY_CHARACTERS, MAX_BODY_BYTES, shaped
from scrapejobs.intake.acceptance import Origin, accept
from scrapejobs.intake.requests import JobRequest
from scrapejobs.store.bulk import Item
from scrapejobs.store.ids import new_id
from scrapejobs.store.transitions import IdempotencyKey, fingerprint

PATH: Final = "/jobs/bulk"
MAX_ITEMS: Final = MAX_LINES_AT_ONCE
MAX_KEY_CHARS: Final = 255
MAX_BULK_BYTES: Final = 8 * 1024 * 1024
ONE: Final = "/jobs"
"""A key of one item means what it means with POST /jobs."""


class BulkItem(JobRequest, frozen=True, forbid_unknown_fields=True):
    """One job of a bulk."""

    idempotency_key: Annotated[str, Meta(pattern=f"^{KEY_CHARACTERS}{{1,255}}$")] | UnsetType = UNSET


class BulkRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs, handed in together."""

    jobs: Annotated[list[BulkItem], Meta(min_length=1, max_length=MAX_ITEMS)]


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    jobs: Annotated[list[Any], Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class Offered:
    """What was handed in: `items` that may be taken and problems, in their order; and their mark, for a key of the
    whole.
    """

    items: Sequence[Item | Problem]
    digest: bytes


def of_document(text: bytes, *, whole: str | None, origin: Origin, context: Context) -> Offered:
    """The jobs of a JSON document. Pointers of problems lead into the document. Raises `Problem` for the whole."""
    raws = shaped(strict_json.decode(text), _Envelope).jobs
    if len(raws) > MAX_ITEMS:
        raise Problem("too-many-items", f"no more than {MAX_ITEMS}")
    is_long = len(text) > MAX_BODY_BYTES
    values = [_small(raw) if is_long else raw for raw in raws]
    return _offered(values, whole=whole, within="/jobs/{}", origin=origin, context=context)


def of_lines(lines: Iterable[bytes], *, whole: str | None, origin: Origin, context: Context) -> Offered:
    """The jobs of lines of JSON, each a document of its own. Raises `Problem` when there are none."""
    values = [_value(line) for line in lines]
    if not values:
        raise invalid("", "value", "no line holds a job")
    return _offered(values, whole=whole, within="", origin=origin, context=context)


def derived(name: str, part: str) -> str:
    """The key of a part of what a client's key stands for. No client can give one with a space."""
    key = f"{name} {part}"
    return key if len(key) <= MAX_KEY_CHARS else f"sha256 {sha256(key.encode()).hexdigest()}"


def _small(raw: Any) -> Any:
    """A job of a bulk may be as large as one alone."""
    try:
        is_small = len(msgspec.json.encode(raw)) <= MAX_BODY_BYTES
    except UnicodeEncodeError:
        return raw  # refused for that
    return raw if is_small else _too_large()


def _too_large() -> Problem:
    return Problem("payload-too-large", f"no more than {MAX_BODY_BYTES} bytes for a job")


def _value(line: bytes) -> Any:
    try:
        return _too_large() if len(line) > MAX_LINE_BYTES else strict_json.decode(line)
    except Problem as problem:
        return problem


def _offered(values: Sequence[Any], *, whole: str | None, within: str, origin: Origin, context: Context) -> Offered:
    ids = sorted(new_id() for _ in values)  # a list shows the jobs of a bulk in their order, though made in one moment
    items = [
        _item(raw, job_id, name=derived(whole, f":{place}") if whole else None, origin=origin, context=context)
        for place, (raw, job_id) in enumerate(zip(values, ids, strict=True))
    ]
    right = [raw if isinstance(item, Item) else None for raw, item in zip(values, items, strict=True)]
    found = [_pointing(item, within.format(place)) for place, item in enumerate(items)]
    return Offered(found, fingerprint(PATH, right))


def _item(raw: Any, job_id: UUID, *, name: str | None, origin: Origin, context: Context) -> Item | Problem:
    """`name`: of the key of an item that brings none."""
    if isinstance(raw, Problem):
        return raw
    try:
        strict_json.check(raw)
        asked = shaped(raw, BulkItem)
        job = accept(asked, job_id=job_id, origin=origin, context=context)
    except Problem as problem:
        return problem
    if asked.idempotency_key is not UNSET:
        name = asked.idempotency_key
    return Item(job, _key(name, raw, context) if name else None)


def _key(name: str, raw: dict[str, Any], context: Context) -> IdempotencyKey:
    body = {field: value for field, value in raw.items() if field != "idempotency_key"}
    return IdempotencyKey(name, context.ring.marks(fingerprint(ONE, body)), context.config.receipt_ttl_s)


def _pointing(item: Item | Problem, within: str) -> Item | Problem:
    if isinstance(item, Item) or not within:
        return item
    return replace(item, mistakes=list(_within(item.mistakes, within)))


def _within(mistakes: Iterable[Mistake], place: str) -> Iterator[Mistake]:
    return (msgspec.structs.replace(mistake, pointer=f"{place}{mistake.pointer}") for mistake in mistakes)
