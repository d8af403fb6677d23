"""Hosts that are not fetched because their owners do not want it: rows, looked at by intake and by workers."""

from collections.abc import Collection

from scrapejobs.domain.target import names_over
from scrapejobs.store.run import Row, Statement, Steps, verb


@verb()
def listing() -> Steps[list[Row]]:
    """Every opt-out by name: the rows of `opt_out/listing.sql`."""
    return (yield Statement("opt_out/listing", {}))


@verb()
def opted_out(hosts: Collection[str]) -> Steps[set[str]]:
    """Those of the hosts that a row speaks of."""
    names = {host: set(names_over(host)) for host in hosts}
    rows = yield Statement("opt_out/covering", {"names": sorted(set().union(*names.values()))})
    found = {row["name"] for row in rows}
    return {host for host, over in names.items() if over & found}


@verb()
def opt_out(name: str, *, reason: str) -> Steps[None]:
    """Puts a host on the list, its name as `hosts.host_name` gives it. Its jobs fail when their turn comes."""
    yield Statement("opt_out/put", {"name": name, "reason": reason})


@verb()
def opt_in(name: str) -> Steps[bool]:
    """Takes a host off the list; False when it was not on it."""
    return bool((yield Statement("opt_out/remove", {"name": name})))
