"""The live processes, read for people (FR-13). Their own announcements are the loops' affair."""

from scrapejobs.store.run import Row, Statement, Steps, verb


@verb()
def standing() -> Steps[list[Row]]:
    """Every process that is announced or holds leases: the rows of `service/standing.sql`."""
    return (yield Statement("service/standing", {}))
