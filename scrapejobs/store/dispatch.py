"""What the dispatcher asks of the database. Whatever moves an entry checks the epoch (ADR-0006)."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import psycopg
from psycopg.rows import DictRow

from scrapejobs.domain.picking import Wanted
from scrapejobs.store.query import sql
from scrapejobs.store.run import Row, Statement, Steps, verb

CHUNK: Final = 1000


@verb()
def take(*, holder: str, lease_s: float, epoch: int | None = None) -> Steps[int | None]:
    """Becomes the dispatcher; the new epoch, or None while another one is. Who held the last lease, under `epoch`, need
    not wait for its end.
    """
    rows = yield Statement("dispatcher/take", {"holder": holder, "lease_s": lease_s, "epoch": epoch})
    return int(rows[0]["epoch"]) if rows else None


@verb()
def hold(*, epoch: int, lease_s: float) -> Steps[bool]:
    """Renews the dispatch lease; False when this epoch is over."""
    return bool((yield Statement("dispatcher/renew", {"epoch": epoch, "lease_s": lease_s})))


@verb()
def holder() -> Steps[str | None]:
    """The name of the scheduler that dispatches; None while nobody does."""
    rows = yield Statement("dispatcher/holder", {})
    return rows[0]["holder"] if rows else None


@verb()
def resign(*, epoch: int) -> Steps[bool]:
    """Gives the dispatch lease up, for a standby to take at once."""
    return bool((yield Statement("dispatcher/resign", {"epoch": epoch})))


@dataclass(frozen=True, slots=True)
class Appended:
    """Queue entries that became visible, what is behind each window that was asked for (with whether there is more),
    and the snapshot to ask from next time. All of one moment: an entry is in one of both, or still behind.
    """

    snapshot: str
    entries: list[Row]
    heads: list[tuple[Wanted, list[int], bool]]


@verb()
def appended(*, since: str, wanted: Sequence[Wanted] = ()) -> Steps[Appended]:
    """Entries that became visible since a snapshot, and the next ones of the lanes that are `wanted`."""
    lanes = {
        "priorities": [lane.priority for lane in wanted],
        "tenant_ids": [lane.tenant for lane in wanted],
        "hosts": [lane.host for lane in wanted],
        "afters": [lane.after for lane in wanted],
        "sizes": [lane.n for lane in wanted],
    }
    rows = yield Statement("queued/appended", {"since": since, **lanes})
    heads = [(wanted[row["lane"] - 1], row["seqs"]) for row in rows if row["lane"] is not None]
    return Appended(
        rows[0]["snapshot"],
        [row for row in rows if row["seq"] is not None],
        [(lane, seqs[: lane.n], len(seqs) > lane.n) for lane, seqs in heads],
    )


@verb()
def still_queued(seqs: Sequence[int]) -> Steps[set[int]]:
    """Which of these entries are still queued."""
    return {row["seq"] for row in (yield Statement("queued/still", {"seqs": list(seqs)}))}


@verb()
def snapshot() -> Steps[str]:
    """The snapshot of now."""
    rows = yield Statement("queued/snapshot", {})
    return str(rows[0]["snapshot"])


async def every_lane(conn: psycopg.AsyncConnection[DictRow], *, window: int) -> AsyncIterator[list[Row]]:
    """All lanes with their first entries, as rows of `queued/lanes.sql`, streamed in chunks."""
    async with conn.transaction(), conn.cursor(name="every_lane") as cursor:
        await cursor.execute(sql("queued/lanes"), {"window": window})
        while rows := await cursor.fetchmany(CHUNK):
            yield rows


@verb()
def held() -> Steps[list[Row]]:
    """What counts as load already: `seq`, `tenant_id`, `host`; and `age_s`, how many seconds
    ago its request was let go, by a claim or a permit (None: not yet).
    """
    return (yield Statement("ready/held", {}))


@dataclass(frozen=True, slots=True)
class Outstanding:
    """What still waits in ready (with the smallest living position) and who runs the rest. `claimed`: how many seconds
    ago each that runs was claimed. `asks`: attempts that ask
    for a permit, each with its host, in the order in which they asked. `slots`: of each worker heard of of late that
    takes jobs.
    """

    waiting: int
    lowest_pos: int | None
    running: Mapping[UUID, int]
    seqs: set[int]
    claimed: dict[int, float]
    asks: list[tuple[int, str]]
    slots: dict[UUID, int]

    @property
    def free(self) -> int:
        """Slots of live workers that nothing runs in."""
        return sum(max(0, n - self.running.get(worker, 0)) for worker, n in self.slots.items())


@verb()
def outstanding(seqs: Sequence[int], *, alive_s: float, known: Collection[int] = ()) -> Steps[Outstanding]:
    """Which entries still wait or run; what is absent has ended. Asks that are `known` are not told again. A worker
    counts when it was heard of within `alive_s`.
    """
    rows = yield Statement("ready/outstanding", {"seqs": list(seqs), "known": list(known), "alive_s": alive_s})
    runs = [row for row in rows if row["ages_s"] is not None]
    asks = sorted((row["asked_at"], row["seqs"][0], row["asks"]) for row in rows if row["asks"] is not None)
    (ready,) = (row for row in rows if row["worker_id"] is None and row["asks"] is None)
    waiting = ready["seqs"] or []
    claimed = {seq: age_s for row in runs for seq, age_s in zip(row["seqs"], row["ages_s"], strict=True)}
    return Outstanding(
        waiting=len(waiting),
        lowest_pos=ready["pos"],
        running={row["worker_id"]: len(row["seqs"]) for row in runs},
        seqs={*waiting, *claimed},
        claimed=claimed,
        asks=[(seq, host) for _, seq, host in asks],
        slots={row["worker_id"]: row["slots"] for row in rows if row["slots"] is not None},
    )


@dataclass(frozen=True, slots=True)
class Dispatched:
    """`leads` False: the epoch is over and nothing was moved."""

    leads: bool
    moved: frozenset[int]
    last_pos: int | None


@verb()
def dispatch(seqs: Sequence[int], *, epoch: int) -> Steps[Dispatched]:
    """Moves picked entries to ready; those cancelled meanwhile are not among `moved`."""
    (row,) = yield Statement("ready/dispatch", {"seqs": list(seqs), "epoch": epoch})
    return Dispatched(row["leads"] == 1, frozenset(row["moved"] or ()), row["last_pos"])


@verb()
def take_back(*, epoch: int, ready_ttl_s: float) -> Steps[list[int]]:
    """Puts ready rows that nobody took in time back; their fences."""
    rows = yield Statement("ready/take_back", {"epoch": epoch, "ready_ttl_s": ready_ttl_s})
    return [row["seq"] for row in rows]


@verb()
def set_floor(pos: int) -> Steps[None]:
    """Notes the smallest living position of ready, where claims start to look."""
    yield Statement("ready/floor", {"pos": pos})


@verb()
def tell_crowded(hosts: Sequence[tuple[str, float]], *, now: float, epoch: int) -> Steps[None]:
    """Tells readers which hosts have no room, each with the time (on the clock of `now`) at which it may have some."""
    ins = [at - now if at < float("inf") else None for _, at in hosts]
    yield Statement("crowded/tell", {"hosts": [host for host, _ in hosts], "in_s": ins, "epoch": epoch})


@dataclass(frozen=True, slots=True)
class HostRules:
    """Rows of `host/rules.sql`: limits and pauses, and circuits that are not closed or have learned something; and
    whether signs were left.
    """

    hosts: list[Row]
    circuits: list[Row]
    has_signs: bool


@verb()
def host_rules() -> Steps[HostRules]:
    """What rows say of hosts now."""
    rows = yield Statement("host/rules", {})
    named = [row for row in rows if row["name"] is not None]
    circuits = [row for row in named if row["share"] is not None]
    hosts = [row for row in named if row["share"] is None]
    return HostRules(hosts, circuits, has_signs=len(named) < len(rows))


@verb()
def tenant_rows() -> Steps[list[Row]]:
    """Weights and caps, as rows of `tenant/shares.sql`."""
    return (yield Statement("tenant/shares", {}))
