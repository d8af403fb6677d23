"""Permits of redirected attempts: asked for by workers, given by the dispatcher under its epoch (ADR-0022)."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrapejobs.store.run import Row, Statement, Steps, verb


@dataclass(frozen=True, slots=True)
class Asked:
    """One attempt's wish for room at a host. `n` grows with each time that its worker asks."""

    seq: int
    host: str
    n: int


@verb()
def ask(asked: Sequence[Asked]) -> Steps[None]:
    """Asks for permits. The attempts hold no room at any host from now on until theirs is given."""
    columns = {
        "seqs": [one.seq for one in asked],
        "hosts": [one.host for one in asked],
        "ns": [one.n for one in asked],
    }
    yield Statement("permit/ask", columns)


@verb()
def given(seqs: Sequence[int]) -> Steps[list[Row]]:
    """Those of them that were given, as rows of `permit/given.sql`."""
    return (yield Statement("permit/given", {"seqs": list(seqs)}))


@dataclass(frozen=True, slots=True)
class Given:
    """`leads` False: the epoch is over and nothing was given."""

    leads: bool
    seqs: frozenset[int]


@verb()
def give(seqs: Sequence[int], *, epoch: int) -> Steps[Given]:
    """Gives permits; those whose lease is gone meanwhile are not among them."""
    (row,) = yield Statement("permit/give", {"seqs": list(seqs), "epoch": epoch})
    return Given(row["leads"] == 1, frozenset(row["given"] or ()))
