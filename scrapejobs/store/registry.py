"""The live processes, as they tell of themselves (FR-13)."""

from uuid import UUID

from scrapejobs.store.run import Statement, Steps, verb


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
