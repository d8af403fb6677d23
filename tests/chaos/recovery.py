"""How long it took until work went on after something was done to the service."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from tests.chaos.dossier import Dossier
from tests.chaos.history import Attempt, Deed

INTERRUPTS = frozenset({"kill", "term", "freeze"})
HEAL = "heal"


def recoveries_of(dossiers: Iterable[Dossier], deeds: Sequence[Deed]) -> Iterator[float]:
    """For each attempt that a deed interrupted: from the deed to the start of the job's next one."""
    for dossier in dossiers:
        for attempt, following in pairwise(dossier.attempts):
            if attempt.outcome in {"lost", "released"} and (deed := _cause(attempt, following.started_at, deeds)):
                yield following.started_at - deed.at


def waits_of(dossiers: Iterable[Dossier], deeds: Sequence[Deed]) -> Iterator[float]:
    """What each job waited for its first start: from the last heal meanwhile, else the first deed, else its arrival."""
    for dossier in dossiers:
        for attempt in dossier.attempts[:1]:
            during = [deed for deed in deeds if dossier.job.created_at <= deed.at <= attempt.started_at]
            healed = [deed.at for deed in during if deed.what == HEAL]
            hurt = [deed.at for deed in during if deed.what in INTERRUPTS]
            yield attempt.started_at - (healed[-1:] or hurt[:1] or [dossier.job.created_at])[0]


def _cause(attempt: Attempt, until: float, deeds: Sequence[Deed]) -> Deed | None:
    """What interrupted an attempt: the first deed that its worker suffered, else the last heal before it went on."""
    during = [deed for deed in deeds if attempt.started_at <= deed.at <= until]
    suffered = [deed for deed in during if deed.what in INTERRUPTS and deed.label == attempt.worker]
    healed = [deed for deed in during if deed.what == HEAL]
    return (suffered[:1] or healed[-1:] or [None])[0]
