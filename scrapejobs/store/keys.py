"""Read side of API keys."""

from scrapejobs.store.run import Row, Statement, Steps, verb


@verb()
def find(public_id: str) -> Steps[Row | None]:
    """The key in force with this public id: its hash, tenant and scopes."""
    rows = yield Statement("api_key/find", {"public_id": public_id})
    return rows[0] if rows else None
