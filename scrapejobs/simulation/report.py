"""What a simulation is told as: figures for each tenant, priority and host, and the expectations."""

from dataclasses import dataclass
from typing import Final

from scrapejobs.simulation.expectations import Finding, findings
from scrapejobs.simulation.record import KINDS, Record, Row, rows
from scrapejobs.simulation.scenario import Scenario

COLUMNS: Final = (
    "kind",
    "name",
    "arrived",
    "started",
    "finished",
    "failed",
    "attempts",
    "share",
    "most_running",
    "wait_p50",
    "wait_p95",
    "wait_max",
)


@dataclass(frozen=True, slots=True)
class Report:
    """`jain`: the index over the tenants' starts by weight, over the whole time; it says something only while all of
    them have work.
    """

    title: str
    seed: int
    slots: int
    jobs: int
    attempts: int
    seconds: float
    jain: float
    rows: list[Row]
    expectations: list[Finding]

    @property
    def summary(self) -> str:
        """The whole in one line."""
        return (
            f"{self.jobs} jobs, {self.attempts} attempts, {self.slots} slots, {self.seconds:g} seconds, "
            f"seed {self.seed}; Jain's index over the tenants {self.jain:.6f}"
        )


def report_of(scenario: Scenario, record: Record) -> Report:
    return Report(
        title=scenario.title,
        seed=scenario.seed,
        slots=scenario.slots,
        jobs=len(record.jobs),
        attempts=len(record.starts),
        seconds=round(record.ended_at, 3),
        jain=round(record.jain(), 6),
        rows=[row for kind in KINDS for row in rows(record, kind)],
        expectations=findings(scenario.expect, record),
    )
