"""The one judge of a round: from a history to a verdict, without looking at anything else.

Each rule is a function from what is known of a job to sentences about what broke it; README's promises name the rules.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tests.chaos.dossier import Dossier, dossiers_of
from tests.chaos.history import History
from tests.chaos.pages import KINDS, body_of, kind_of
from tests.chaos.politeness import longest_pause_s, too_many
from tests.chaos.recovery import INTERRUPTS, recoveries_of, waits_of

Rule = Callable[[Dossier], Iterator[str]]
POISON_AFTER = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a round showed: a sentence for each violation, and the seconds that recovery took."""

    jobs: int
    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    wrong_states: tuple[str, ...]
    orphans: tuple[str, ...]
    recoveries_s: tuple[float, ...] = ()
    longest_wait_s: float = 0.0
    longest_pause_s: float = 0.0

    @property
    def slowest_recovery_s(self) -> float:
        """The longest that a job waited for its next start after it was interrupted, or for its first one."""
        return max(self.longest_wait_s, *self.recoveries_s, 0.0)

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.wrong_states or self.orphans)


def check(history: History) -> Verdict:
    """The verdict on a round that was healed and drained."""
    dossiers = dossiers_of(history)
    recoveries_s = tuple(sorted(recoveries_of(dossiers, history.deeds)))
    return Verdict(
        jobs=len(history.jobs),
        lost=(*_missing(history), *_each(dossiers, _unfinished, _untold)),
        doubled=(*_same_key(history), *_each(dossiers, _twice_told, _twice_stored, _fetched_after_cancel)),
        wrong_states=(
            *_each(dossiers, _wrong_end, _wrong_result, _wrong_attempts, _blamed, _wrong_calls),
            *_idle(history),
            *too_many(history),
            *_paused(history),
            *_lost_attempts(history),
            *_too_late(recoveries_s, history.recovers_within_s),
            *history.left,
            *history.crashes,
        ),
        orphans=tuple(sorted(_orphans(history))),
        recoveries_s=recoveries_s,
        longest_wait_s=max(waits_of(dossiers, history.deeds), default=0.0),
        longest_pause_s=_longest_pause_s(history),
    )


def _each(dossiers: Iterable[Dossier], *rules: Rule) -> Iterator[str]:
    for dossier in dossiers:
        for rule in rules:
            for what in rule(dossier):
                yield dossier.says(what)


# ---- lost (P1, P6, NFR-7)


def _missing(history: History) -> Iterator[str]:
    there = {job.id for job in history.jobs}
    for one in history.asked:
        if one.what == "submit" and one.result == "ok" and one.job_id not in there:
            yield f"job {one.job_id} ({one.path}) was accepted and is not there"


def _unfinished(dossier: Dossier) -> Iterator[str]:
    if dossier.job.final is None:
        yield "has no final state"


def _untold(dossier: Dossier) -> Iterator[str]:
    if dossier.job.final is not None and not (dossier.job.is_told and dossier.events):
        yield "is final without a finish event"
    taken = {call.event_id for call in dossier.calls if call.status is not None and 200 <= call.status < 300}
    for event in dossier.events if dossier.job.has_callback else ():
        if event.id not in taken | dossier.history.given_up:
            yield f"event {event.id} never reached its receiver"


# ---- doubled (P4, P5, P6, P7)


def _same_key(history: History) -> Iterator[str]:
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for job in history.jobs:
        ids[job.key].add(job.id)
    for one in history.asked:
        if one.what == "submit" and one.result == "ok" and one.key and one.job_id:
            ids[one.key].add(one.job_id)
    for key, its in ids.items():
        if len(its) > 1:
            yield f"key {key} has {len(its)} jobs: {', '.join(sorted(its))}"


def _twice_told(dossier: Dossier) -> Iterator[str]:
    if len(dossier.events) > 1 + dossier.n_requeues:
        yield f"has {len(dossier.events)} finish events and {dossier.n_requeues} requeues"
    for strange in {call.event_id for call in dossier.calls} - {event.id for event in dossier.events}:
        yield f"its receiver got the event {strange}, which is not there"


def _twice_stored(dossier: Dossier) -> Iterator[str]:
    if dossier.outcomes["stored"] > 1:
        yield f"has {dossier.outcomes['stored']} applied results"


def _fetched_after_cancel(dossier: Dossier) -> Iterator[str]:
    """A job whose lease was taken before the cancel may still be at the target; one that waited may not (P7)."""
    for attempt in dossier.attempts:
        if (
            dossier.job.final == "cancelled"
            and dossier.job.finished_at
            and attempt.started_at > dossier.job.finished_at
        ):
            yield f"attempt {attempt.number} started after its cancel"


# ---- wrong states (P2, P3, P4, P6)


def _idle(history: History) -> Iterator[str]:
    if not any(one.what == "submit" and one.result == "ok" for one in history.asked):
        yield "no job was accepted, so that nothing was shown"


def _wrong_end(dossier: Dossier) -> Iterator[str]:
    job, kind = dossier.job, KINDS[kind_of(dossier.job.path)]
    allowed = {(kind.final, kind.code)}
    if dossier.asked["cancel", "ok"] + dossier.asked["cancel", "unknown"]:
        allowed.add(("cancelled", None))
    if dossier.asked["cancel", "ok"]:
        allowed = {("cancelled", None)}
    if dossier.outcomes["lost"] >= POISON_AFTER:
        allowed.add(("failed", "poison"))
    if job.final is not None and (job.final, job.code if job.final == "failed" else None) not in allowed:
        yield f"ended as {job.final} {job.code or ''}; may end as {sorted(allowed, key=str)}"


def _wrong_result(dossier: Dossier) -> Iterator[str]:
    job = dossier.job
    if job.final != "succeeded":
        return
    found = next((one for one in dossier.history.objects if one.key == job.result_key), None)
    if found is None:
        yield f"succeeded and its object {job.result_key} is not there"
    elif (found.size, found.sha256) != (job.result_size, job.result_sha256):
        yield f"object {found.key} is not the {job.result_size} bytes that the row says"
    elif found.sha256 != hashlib.sha256(body_of(job.path)).hexdigest():
        yield "its result is not what the target answered"


def _wrong_attempts(dossier: Dossier) -> Iterator[str]:
    job, n_attempts = dossier.job, len(dossier.attempts)
    if len(dossier.hits) > n_attempts:
        yield f"{len(dossier.hits)} requests at the target, {n_attempts} attempts recorded"
    if dossier.history.is_quiet and job.final != "cancelled" and len(dossier.hits) < n_attempts:
        yield f"{n_attempts} attempts recorded, {len(dossier.hits)} requests at the target, and nothing was wrong"
    if job.final == "succeeded" and not dossier.outcomes["stored"]:
        yield "succeeded without an attempt that stored"
    if job.final != "succeeded" and dossier.outcomes["stored"]:
        yield f"an attempt stored, and it ended as {job.final}"
    numbers = [attempt.number for attempt in dossier.attempts]
    if numbers != list(range(1, n_attempts + 1)):
        yield f"its attempts are numbered {numbers}"
    for attempt in dossier.attempts:
        if attempt.outcome in {"lost", "released"} and attempt.is_charged:
            yield f"attempt {attempt.number} was {attempt.outcome} and is charged"
    n_charged = sum(attempt.is_charged for attempt in dossier.attempts)
    if not dossier.n_requeues and n_charged != job.n_charged:
        yield f"{n_charged} attempts are charged, and the row says {job.n_charged}"


def _blamed(dossier: Dossier) -> Iterator[str]:
    """What is charged is what the target answered, and no fault of ours."""
    charged = [one.number for one in dossier.attempts if one.is_charged and one.outcome not in {"lost", "released"}]
    most = KINDS[kind_of(dossier.job.path)].n_charged
    if len(charged) > most * (1 + dossier.n_requeues):
        yield f"attempts {charged} are charged, and what its target answers costs {most}"


def _wrong_calls(dossier: Dossier) -> Iterator[str]:
    if any(not call.is_valid for call in dossier.calls):
        yield "a call of its receiver was not signed as Standard Webhooks says"
    if dossier.calls and not dossier.job.has_callback:
        yield "somebody was called who had not asked for it"


def _lost_attempts(history: History) -> Iterator[str]:
    for attempt in history.attempts if history.loses_no_attempt else ():
        if attempt.outcome == "lost":
            yield f"job {attempt.job_id}: {attempt.worker} lost attempt {attempt.number} and should have handed it back"


def _longest_pause_s(history: History) -> float:
    since, until = history.under_load
    deeds = [deed for deed in history.deeds if deed.what in INTERRUPTS and since <= deed.at <= until]
    return longest_pause_s(history.hits, deeds, until=until)


def _paused(history: History) -> Iterator[str]:
    paused_s, most_s = _longest_pause_s(history), history.pauses_at_most_s
    if most_s is not None and paused_s > most_s:
        yield f"nothing reached the target for {paused_s:.2f} s, and {most_s:g} s are allowed"


# ---- orphans, recovery


def _orphans(history: History) -> set[str]:
    return {one.key for one in history.objects} - {job.result_key for job in history.jobs}


def _too_late(recoveries_s: Iterable[float], within_s: float | None) -> Iterator[str]:
    for taken_s in recoveries_s if within_s is not None else ():
        if taken_s > within_s:
            yield f"an interrupted job went on after {taken_s:.1f} s, and not within {within_s:g} s"
