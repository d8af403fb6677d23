"""The live processes: what they tell of themselves, and how they stand (FR-13)."""

from uuid import UUID

from scrapejobs.store.run import Row, Statement, Steps, verb


@verb()
def announce(
    service_id: UUID, *, role: str, name: str, hostname: str, pid: int, slots: int, draining: bool
) -> Steps[None]:
    """Says that a process lives, and how many slots it has."""
    params = {"id": service_id, "role": role, "name": name, "hostname": hostname, "pid": pid}
    yield Statement("service/announce", {**params, "slots": slots, "draining": draining})


@verb()
def leave(service_id: UUID) -> Steps[None]:
    """Says goodbye."""
    yield Statement("service/leave", {"id": service_id})


@verb()
def standing() -> Steps[list[Row]]:
    """Every process that is announced or holds leases: the rows of `service/standing.sql`."""
    return (yield Statement("service/standing", {}))
