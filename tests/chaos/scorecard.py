"""The table of a run, and what was wrong in words."""

from collections.abc import Iterable
from statistics import median

from rich import box
from rich.table import Table

from tests.chaos.rounds import Score

MOST_SAID = 10
COLUMNS = ("fault", "seed", "jobs", "lost", "doubled", "wrong final states", "orphans", "slowest recovery")


def table_of(scores: Iterable[Score]) -> Table:
    """One row a fault; zeros where zeros belong."""
    table = Table(*COLUMNS, box=box.SIMPLE_HEAD)
    for score in scores:
        verdict, recovery_s = score.verdict, score.verdict.slowest_recovery_s
        counts = (verdict.lost, verdict.doubled, verdict.wrong_states, verdict.orphans)
        table.add_row(
            score.fault.name,
            str(score.seed),
            str(verdict.jobs),
            *(f"[red]{len(found)}[/]" if found else "0" for found in counts),
            f"{recovery_s:.1f} s",
        )
    return table


def in_words(score: Score) -> list[str]:
    """The violations of a round, the first ten of each kind, and where its logs are."""
    verdict, said = score.verdict, []
    for name, found in (
        ("lost", verdict.lost),
        ("doubled", verdict.doubled),
        ("wrong", verdict.wrong_states),
        ("orphan", verdict.orphans),
    ):
        said += [f"{name}: {what}" for what in found[:MOST_SAID]]
        if len(found) > MOST_SAID:
            said.append(f"{name}: and {len(found) - MOST_SAID} more")
    return [*said, f"logs: {score.logs}"]


def remarks(score: Score) -> str:
    """What the table has no column for."""
    recoveries_s = score.verdict.recoveries_s
    said = f"the service removed {score.n_removed} orphans itself; longest pause at the target"
    said += f" {score.verdict.longest_pause_s:.2f} s; {len(recoveries_s)} attempts interrupted"
    return f"{said}, half of them went on within {median(recoveries_s):.1f} s" if recoveries_s else said
