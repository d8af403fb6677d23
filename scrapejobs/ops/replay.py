"""The last hours from the database as a scenario: what came in, how long its attempts took, and the limits of now."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from statistics import fmean
from typing import Final

from scrapejobs.config import load
from scrapejobs.domain.picking import HostLimits
from scrapejobs.ops.liveness import state_of
from scrapejobs.scheduler.limits import Limits
from scrapejobs.simulation.record import Job
from scrapejobs.simulation.scenario import HostSettings, Scenario, ScenarioError, TenantSettings
from scrapejobs.store import clock
from scrapejobs.store.jobs import arrived
from scrapejobs.store.models import Host, Tenant
from scrapejobs.store.run import Row, run
from scrapejobs.store.services import standing

MOST: Final = 100_000
"""So many jobs are replayed at most, the newest: it takes seconds, not minutes."""

_UNKNOWN_S: Final = 1.0


def replay(for_s: float, *, slots: int | None) -> tuple[Scenario, list[Job]]:
    """The jobs of the last `for_s` seconds, earliest first, and where they run: with `slots`, or those of the live
    workers; weights and limits as they are set now. ScenarioError when there is nothing to replay.
    """
    rows = run(arrived(since=run(clock.now()) - timedelta(seconds=for_s), limit=MOST))
    slots = slots or _live_slots()
    if not rows:
        raise ScenarioError("no job came in during that time")
    if not slots:
        raise ScenarioError("no worker is live: say how many --slots")
    title = f"replay of the last {for_s / 3600:g} hours" + (f": the newest {MOST:,} jobs" if len(rows) == MOST else "")
    scenario = Scenario(
        title=title,
        slots=slots,
        arrivals=[],
        max_attempts=max(1, *(len(row["lasts"]) for row in rows)),
        tenants={tenant.name: TenantSettings(weight=tenant.weight, max_running=tenant.max_running)
                 for tenant in Tenant.objects.all()},
        hosts=_hosts(rows),
    )  # fmt: skip
    return scenario, _jobs(rows)


def _jobs(rows: Iterable[Row]) -> list[Job]:
    ordered = sorted(rows, key=lambda row: float(row["at"]))
    first = ordered[0]["at"]
    return [
        Job(
            row["tenant"],
            row["priority"],
            row["host"],
            row["at"] - first,
            lasts=tuple(row["lasts"]),
            fails=row["fails"],
        )
        for row in ordered
    ]


def _hosts(rows: Iterable[Row]) -> dict[str, HostSettings]:
    """Each host with its limits of now; a job that has not run yet will take as long as the others there did."""
    config = load()
    limits = Limits(
        HostLimits(config.host_rate, config.host_burst, config.host_concurrency),
        rows={name: (rate, burst, concurrency) for name, rate, burst, concurrency
              in Host.objects.values_list("name", "rate", "burst", "concurrency")},
    )  # fmt: skip
    lasted: Mapping[str, list[float]] = defaultdict(list)
    for row in rows:
        lasted[row["host"]].extend(row["lasts"])
    return {host: _settings(limits.of(host), lasts) for host, lasts in lasted.items()}


def _settings(limits: HostLimits, lasts: list[float]) -> HostSettings:
    seconds = fmean(lasts) if lasts else _UNKNOWN_S
    return HostSettings(rate=limits.rate, burst=limits.burst, concurrency=limits.concurrency, seconds=seconds)


def _live_slots() -> int:
    alive_s = load().alive_s
    return sum(
        row["slots"] or 0
        for row in run(standing())
        if row["role"] == "worker" and state_of(row, alive_s=alive_s) == "live"
    )
