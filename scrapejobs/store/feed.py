"""The feed of finish events: everything a tenant's receivers are told, to be read by who was not there (FR-9)."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from scrapejobs.store.run import Row, Statement, Steps, verb

_SEQ_BITS: Final = 64


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where an event stands in the feed: by its transaction, and within it by its number."""

    xid: int = 0
    seq: int = 0

    @classmethod
    def of(cls, token: UUID) -> "Place":
        """The place that `token` stands for."""
        return cls(token.int >> _SEQ_BITS, token.int & ((1 << _SEQ_BITS) - 1))

    @property
    def token(self) -> UUID:
        """The place in the sixteen bytes that a cursor holds."""
        return UUID(int=self.xid << _SEQ_BITS | self.seq)


@verb()
def feed(*, tenant_id: int, after: Place, limit: int) -> Steps[list[Row]]:
    """The next events of a tenant, as rows of `event/feed.sql`. What is read once is not overtaken by what comes."""
    params = {"tenant_id": tenant_id, "xid": after.xid, "seq": after.seq, "limit": limit}
    return (yield Statement("event/feed", params))
