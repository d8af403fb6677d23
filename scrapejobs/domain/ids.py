"""UUIDv7 (RFC 9562, section 5.7): ids that sort by time, the day that an id belongs to, and the keys of objects."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEY = re.compile(r"\d{4}-\d\d-\d\d/([1-9]\d{0,17})/([0-9a-f-]{36})/([1-9]\d{0,17})", re.ASCII)


@dataclass(frozen=True, slots=True)
class KeyParts:
    """Whose object a key names: the job, its tenant, and the fence of the attempt that stored it."""

    job_id: UUID
    tenant_id: int
    seq: int


def uuid7(*, unix_ms: int, random_bits: int) -> UUID:
    """The UUIDv7 of a Unix time in milliseconds and 74 random bits (12 and 62)."""
    value = (unix_ms & 0xFFFF_FFFF_FFFF) << 80
    value |= 0x7 << 76 | ((random_bits >> 62) & 0xFFF) << 64
    value |= 0b10 << 62 | (random_bits & ((1 << 62) - 1))
    return UUID(int=value)


def first_of_day(day: date) -> UUID:
    """The lowest id that a day can hold: the bound between two day partitions."""
    return first_at(datetime(day.year, day.month, day.day, tzinfo=UTC))


def first_at(moment: datetime) -> UUID:
    """The lowest id that a moment can hold. Naive datetimes raise TypeError."""
    unix_ms = max(0, (moment - _EPOCH) // timedelta(milliseconds=1))
    return UUID(int=unix_ms << 80)


def day_of(id_: UUID) -> date:
    """The UTC day of a UUIDv7: its partition, and the prefix of its objects."""
    return (_EPOCH + timedelta(milliseconds=id_.int >> 80)).date()


def object_key(*, job_id: UUID, tenant_id: int, seq: int) -> str:
    """Where an attempt's bytes are stored: day first, so that retention deletes a prefix; the fence last, so
    that a late worker can never write over another attempt's object.
    """
    return f"{day_of(job_id).isoformat()}/{tenant_id}/{job_id}/{seq}"


def key_parts(key: str) -> KeyParts | None:
    """What `object_key` made a key of; None for every key that it did not make."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    try:
        parts = KeyParts(UUID(match[2]), int(match[1]), int(match[3]))
        made = object_key(job_id=parts.job_id, tenant_id=parts.tenant_id, seq=parts.seq)
    except (ValueError, OverflowError):
        return None
    return parts if made == key else None
