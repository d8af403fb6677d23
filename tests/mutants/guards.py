"""The guards that the promises stand on, each with a mutant without it and the test that must go red then."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
TABLE: Final = Path(__file__).with_name("guards.toml")


@dataclass(frozen=True, slots=True)
class Guard:
    """`old` stands exactly once in `file`; with `new` in its place each test of `red` must fail."""

    name: str
    holds: str
    file: str
    old: str
    new: str
    red: tuple[str, ...]

    def mutant(self, source: str) -> str:
        """The source without the guard. Raises ValueError when the table no longer fits it."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.file} has {source.count(self.old)} times what the guard {self.name!r} says")
        return source.replace(self.old, self.new)


def guards() -> list[Guard]:
    """Every row of the table."""
    return [Guard(**{**row, "red": tuple(row["red"])}) for row in tomllib.loads(TABLE.read_text())["guard"]]
