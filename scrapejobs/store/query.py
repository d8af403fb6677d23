"""Statements by name: `sql("job/claim")` is the text of `sql/job/claim.sql`."""

from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parent / "sql"


@cache
def sql(name: str) -> str:
    """The text of a statement. Raises FileNotFoundError for a name that has no file."""
    return (_ROOT / f"{name}.sql").read_text(encoding="utf-8")


def names() -> list[str]:
    """Every statement there is, sorted."""
    return sorted(path.relative_to(_ROOT).with_suffix("").as_posix() for path in _ROOT.rglob("*.sql"))
