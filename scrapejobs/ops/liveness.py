"""Whether a process is there, as far as its heartbeat tells. Leases never hang on this (case S10)."""

from typing import Any


def state_of(service: dict[str, Any], *, alive_s: float) -> str:
    """live, draining, silent or unannounced, from a row of `service/standing.sql`."""
    if service["unseen_s"] is None:
        return "unannounced"
    if service["unseen_s"] > alive_s:
        return "silent"
    return "draining" if service["draining"] else "live"
