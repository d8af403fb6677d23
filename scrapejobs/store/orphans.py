"""Which objects of the object store are no job's result (ADR-0019)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from scrapejobs.domain.ids import first_of_day, key_parts
from scrapejobs.store.run import Statement, Steps, verb


@dataclass(frozen=True, slots=True)
class Judged:
    """Keys that no job names and no attempt can name any more, and keys of jobs that this database does not know."""

    orphans: frozenset[str]
    unknown: frozenset[str]


@verb()
def orphans(keys: Iterable[str], *, kept_from: date | None = None) -> Steps[Judged]:
    """Judges keys of objects that were there before this was asked. `kept_from`: the first day whose jobs are kept; a
    job that is not there is of a day before it, or unknown. Keys of another shape than ours are not judged.
    """
    ours = {key: parts for key in keys if (parts := key_parts(key)) is not None}
    params = {
        "keys": list(ours),
        "job_ids": [parts.job_id for parts in ours.values()],
        "seqs": [parts.seq for parts in ours.values()],
        "kept_from": first_of_day(kept_from) if kept_from else None,
    }
    rows = (yield Statement("job/orphans", params)) if ours else []
    unknown = frozenset(row["key"] for row in rows if row["is_unknown"])
    return Judged(frozenset(row["key"] for row in rows) - unknown, unknown)
