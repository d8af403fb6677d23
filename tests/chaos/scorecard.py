"""The table of a run, and what was wrong in words."""

from collections.abc import Iterable

from rich.table import Table

from tests.chaos.rounds import Score

MOST_SAID = 10
COLUMNS = ("fault", "seed", "jobs", "lost", "doubled", "wrong final states", "orphans", "slowest recovery")


def table_of(scores: Iterable[Score]) -> Table:
    """One row a fault; zeros where zeros belong."""
    table = Table(*COLUMNS)
    for score in scores:
        verdict, recovery_s = score.verdict, score.verdict.slowest_recovery_s
        counts = (verdict.lost, verdict.doubled, verdict.wrong_states, verdict.orphans)
        table.add_row(
            score.fault.name,
            str(score.seed),
            str(verdict.jobs),
            *(f"[red]{len(found)}[/]" if found else "0" for found in counts),
            "-" if recovery_s is None else f"{recovery_s:.1f} s",
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
