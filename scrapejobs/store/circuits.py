"""Circuits of hosts: what attempts said is taken, weighed by `domain.circuit`, and kept for the next dispatcher."""

from collections import defaultdict
from dataclasses import asdict
from typing import Final

import msgspec

from scrapejobs.domain.circuit import CLOSED, Circuit, CircuitPolicy, Sign, after_all
from scrapejobs.store.run import Row, Statement, Steps, verb

MOST_SIGNS: Final = 1000


@verb(atomic=True)
def weigh_signs(*, epoch: int, policy: CircuitPolicy) -> Steps[list[Row]]:
    """Weighs what was said since the last time; the circuits that opened or closed: `host`, `change`, `reason`."""
    taken = yield Statement("host_sign/take", {"epoch": epoch, "limit": MOST_SIGNS})
    signs: dict[str, list[Sign]] = defaultdict(list)
    for row in taken:
        signs[row.pop("host")].append(Sign(**row))
    if not signs:
        return []
    known = yield Statement("circuit/lock", {"hosts": sorted(signs)})
    before = {row.pop("host"): Circuit(**row) for row in known}
    changed = [
        _row(host, before.get(host, CLOSED), after_all(before.get(host, CLOSED), said, policy))
        for host, said in sorted(signs.items())
    ]
    return (yield Statement("circuit/put", {"circuits": msgspec.json.encode(changed).decode()}))


def _row(host: str, before: Circuit, now: Circuit) -> Row:
    change = None
    if before.is_open != now.is_open or before.retry_at != now.retry_at:
        change = "opened" if now.is_open else "closed"
    return {"host": host, **asdict(now), "change": change}


@verb()
def reset(host: str) -> Steps[bool]:
    """Closes a circuit; False when it was closed (FR-11)."""
    return bool((yield Statement("circuit/reset", {"host": host})))


@verb()
def forget(*, keep_s: float) -> Steps[int]:
    """Forgets old failures and old history."""
    return len((yield Statement("circuit/forget", {"keep_s": keep_s})))
