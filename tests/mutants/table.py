"""The safeguards that the promises stand on, each with a mutant without it and the test that must go red then.

They are rows of `safeguards/*.toml`, a file for each part of the code.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
TABLES: Final = Path(__file__).with_name("safeguards")


@dataclass(frozen=True, slots=True)
class Safeguard:
    """`old` stands exactly once in `file`; with `new` in its place each test of `red` must fail."""

    name: str
    holds: str
    file: str
    old: str
    new: str
    red: tuple[str, ...]

    def mutant(self, source: str) -> str:
        """The source without the safeguard. Raises ValueError when the table no longer fits it."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.file} has {source.count(self.old)} times what the safeguard {self.name!r} says")
        return source.replace(self.old, self.new)


def safeguards() -> list[Safeguard]:
    """Every row of every table."""
    rows = [row for table in sorted(TABLES.glob("*.toml")) for row in tomllib.loads(table.read_text())["safeguard"]]
    return [Safeguard(**{**row, "red": tuple(row["red"])}) for row in rows]
