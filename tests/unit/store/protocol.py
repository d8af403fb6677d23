"""The life of one job as a model: who may do what next, in states small enough to try every order of events.

One job, two workers, the publisher, the dispatcher, the promoter, the sweeper, the finisher, the object store and the
walk for orphans, someone who cancels or expires the job, and a person who requeues it. A step is what Postgres does at
once: one statement, for it decides by rows that it has locked and so read anew (READ COMMITTED). Where a statement also
decides by what it has not locked, it is two steps, and the second goes by what the first saw. A cancel is a transaction
of several statements: what it takes out of a place is locked from then on and gone when it commits.

Each safeguard can be left out; `exploration` then finds what goes wrong.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

MAX_ATTEMPTS = 2
MAX_LOST = 2
LOOKS = ("delayed", "queued", "ready", "lease")  # in the order in which jobs move on
WRONG_LOOKS = ("queued", "delayed", "ready", "lease")


class Safeguard(Enum):
    """What the protocol stands on, where it stands in the product, and its words there."""

    ONE_PUBLISH = ("job/publish.sql", "), put AS (\n    INSERT INTO queued")
    FENCE = ("lease/report.sql", "WHERE lease.seq = told.seq AND locked.id = lease.job_id")
    REPORT_LOCKS_JOB = ("lease/report.sql", "ORDER BY id FOR UPDATE SKIP LOCKED\n), let_go")
    REPORT_KEEPS_FINAL = ("lease/report.sql", "CASE WHEN ended.was IS NULL THEN nullif(ended.next, 'queued') ELSE")
    EXPIRED_ONLY = ("lease/report.sql", "AND (NOT told.expired_only OR lease.expires_at < ")
    CLAIM_LOCKS_READY = ("ready/claim.sql", "FOR UPDATE SKIP LOCKED\n), gone AS (\n    DELETE FROM ready")
    CLAIM_LEAVES_FINAL = ("ready/claim.sql", "JOIN job ON job.id = gone.job_id AND job.final_state IS NULL")
    PUT_BEFORE_REPORT = ("../../worker/runner.py", "if not await self._keep(key, fetched, give_up_at=give_up_at):")
    CANCEL_LOCKS_JOB = ("job/lock.sql", "FOR UPDATE")
    CANCEL_LEAVES_FINAL = ("../transitions.py", "if final is not None:\n        return Cancellation(")
    LOOKS_IN_ORDER = ("../transitions.py", '("delayed/remove", "queued/remove", "ready/remove")')
    TAKE_BACK_LOCKS_JOB = ("ready/take_back.sql", "FOR UPDATE OF job, ready SKIP LOCKED")
    ONE_FINISH = ("job/finish.sql", "), told AS (\n    INSERT INTO event")
    LEASED_IS_NO_ORPHAN = ("job/orphans.sql", "AND NOT EXISTS (SELECT FROM lease WHERE lease.seq = asked.seq)")
    RESULT_IS_NO_ORPHAN = ("job/orphans.sql", "WHERE job.result_key IS DISTINCT FROM asked.key")


class Lease(NamedTuple):
    seq: int
    is_over: bool = False


class Worker(NamedTuple):
    """`was`: the job's final state as an unlocked look saw it."""

    step: str = "idle"
    seq: int = 0
    was: str | None = None
    outcome: str = ""


class Canceller(NamedTuple):
    """A cancel, or an expiry, under way. `found`: the place whose row it has taken and holds locked."""

    verb: str = ""
    looked: int = 0
    found: str = ""


class State(NamedTuple):
    """The committed rows of the job, the objects, and what each actor holds in its mind."""

    final: str | None = None
    published: bool = False
    attempts: int = 0
    lost: int = 0
    result: int = 0
    stamped: bool = False
    queued: int = 0
    delayed: int = 0
    ready: int = 0
    lease: Lease | None = None
    ended: frozenset[int] = frozenset()
    events: int = 0
    objects: frozenset[int] = frozenset()
    workers: tuple[Worker, Worker] = (Worker(), Worker())
    sweeper: int = 0
    canceller: Canceller = Canceller()
    half_way: str = ""
    told_cancelled: bool = False
    refused: str = ""

    @property
    def fresh(self) -> int:
        """A seq that was never drawn."""
        return 1 + max(seqs(self) | self.objects | self.ended)

    def locks_row(self, place: str) -> bool:
        return self.canceller.found == place


Step = tuple[str, State]


def seqs(s: State) -> set[int]:
    """Every seq that somebody can still name; 0 is none."""
    lease = {s.lease.seq} if s.lease else set()
    return {0, s.result, s.queued, s.ready, s.sweeper} | lease | {worker.seq for worker in s.workers}


def steps(s: State, without: frozenset[Safeguard]) -> Iterator[Step]:
    """Everything that may happen next."""
    locked = bool(s.canceller.verb) and Safeguard.CANCEL_LOCKS_JOB not in without
    if not locked:
        yield from _publisher(s, without)
        yield from _finisher(s, without)
        yield from _person(s)
    if not locked or Safeguard.TAKE_BACK_LOCKS_JOB in without:
        yield from _take_back(s)
    yield from _dispatcher(s)
    yield from _time(s)
    yield from _sweeper(s, without, locked=locked)
    yield from _canceller(s, without)
    yield from _walk(s, without)
    for me in (0, 1):
        yield from _claim(s, me, without)
        yield from _attempt(s, me, without)
        yield from _report(s, me, without, locked=locked)


def _put(s: State, place: str, value: int) -> State:
    """An insert into a place, where a job may be only once."""
    if getattr(s, place):
        return s._replace(refused=f"a second row in {place}")
    return s._replace(**{place: value})


def _publisher(s: State, without: frozenset[Safeguard]) -> Iterator[Step]:
    if s.half_way == "publish":
        yield "publisher: puts it into its queue", _put(s._replace(half_way=""), "queued", s.fresh)
        yield "publisher: is killed", s._replace(half_way="")
    elif not s.published and s.final is None:
        stamped = s._replace(published=True)
        if Safeguard.ONE_PUBLISH in without:
            yield "publisher: stamps", stamped._replace(half_way="publish")
        else:
            yield "publisher: stamps and puts it into its queue", _put(stamped, "queued", s.fresh)


def _finisher(s: State, without: frozenset[Safeguard]) -> Iterator[Step]:
    if s.half_way == "finish":
        yield "finisher: stamps", s._replace(half_way="", stamped=True)
        yield "finisher: is killed", s._replace(half_way="")
    elif s.final is not None and not s.stamped:
        told = s._replace(events=s.events + 1)
        if Safeguard.ONE_FINISH in without:
            yield "finisher: writes the event", told._replace(half_way="finish")
        else:
            yield "finisher: writes the event and stamps", told._replace(stamped=True)


def _person(s: State) -> Iterator[Step]:
    if s.final == "failed" and not s.half_way:
        afresh = s._replace(final=None, published=False, attempts=0, lost=0, stamped=False, events=0)
        yield "person: requeues", afresh


def _dispatcher(s: State) -> Iterator[Step]:
    if s.queued and not s.locks_row("queued"):
        yield "dispatcher: moves it to ready", _put(s._replace(queued=0), "ready", s.queued)
    if s.delayed and not s.locks_row("delayed"):
        yield "promoter: moves it to its queue", _put(s._replace(delayed=0), "queued", s.fresh)


def _take_back(s: State) -> Iterator[Step]:
    if s.ready and not s.locks_row("ready"):
        yield "dispatcher: takes it back", _put(s._replace(ready=0), "queued", s.fresh)


def _time(s: State) -> Iterator[Step]:
    if s.lease and not s.lease.is_over:
        yield "time: the lease is over", s._replace(lease=Lease(s.lease.seq, is_over=True))


def _sweeper(s: State, without: frozenset[Safeguard], *, locked: bool) -> Iterator[Step]:
    if s.lease and s.lease.is_over and s.sweeper != s.lease.seq:
        yield "sweeper: sees a lease that is over", s._replace(sweeper=s.lease.seq)
    if s.sweeper and not locked:
        done = s._replace(sweeper=0)
        if s.lease and s.lease.seq == s.sweeper and (s.lease.is_over or Safeguard.EXPIRED_ONLY in without):
            done = _end(done, s.sweeper, "lost", s.final, without)
        yield "sweeper: reports it lost", done


def _walk(s: State, without: frozenset[Safeguard]) -> Iterator[Step]:
    """Removes an object that `job/orphans.sql` calls an orphan. When is no matter: nobody can name it any more."""
    for seq in s.objects:
        is_leased = s.lease is not None and s.lease.seq == seq and Safeguard.LEASED_IS_NO_ORPHAN not in without
        is_result = s.result == seq and Safeguard.RESULT_IS_NO_ORPHAN not in without
        if not is_leased and not is_result:
            yield "walk: removes an orphan", s._replace(objects=s.objects - {seq})


def _mind(s: State, me: int, worker: Worker) -> State:
    return s._replace(workers=(worker, s.workers[1]) if me == 0 else (s.workers[0], worker))


def _claim(s: State, me: int, without: frozenset[Safeguard]) -> Iterator[Step]:
    """Two steps: the ready row is locked and read anew, the job's row is as the statement saw it first."""
    worker = s.workers[me]
    if worker.step == "idle" and s.ready:
        yield f"worker {me}: its claim sees the ready row", _mind(s, me, Worker("claiming", s.ready, s.final))
    if worker.step != "claiming":
        return
    has_it = s.ready == worker.seq and not s.locks_row("ready")
    if has_it or Safeguard.CLAIM_LOCKS_READY in without:
        taken = s._replace(ready=0 if s.ready == worker.seq else s.ready)
        if worker.was is None or Safeguard.CLAIM_LEAVES_FINAL in without:
            taken = _mind(taken, me, Worker("fetching", worker.seq))
            yield f"worker {me}: takes a lease", _put(taken, "lease", Lease(worker.seq))  # type: ignore[arg-type]
        else:
            yield f"worker {me}: drops the entry of a final job", _mind(taken, me, Worker())
    else:
        yield f"worker {me}: its claim finds nothing", _mind(s, me, Worker())


def _attempt(s: State, me: int, without: frozenset[Safeguard]) -> Iterator[Step]:
    """From the claim to the report. A worker may be as slow as it likes, or be killed, anywhere."""
    worker = s.workers[me]
    if worker.step in ("idle", "claiming"):
        return
    yield f"worker {me}: is killed, or breaks off", _mind(s, me, Worker())
    if s.lease and s.lease.seq == worker.seq and s.lease.is_over:
        yield f"worker {me}: renews", s._replace(lease=Lease(worker.seq))
    if worker.step == "fetching":
        stored = s._replace(objects=s.objects | {worker.seq})
        yield f"worker {me}: stores the object", _mind(stored, me, Worker("stored", worker.seq))
        if Safeguard.PUT_BEFORE_REPORT in without:
            yield f"worker {me}: means to store later", _mind(s, me, Worker("stored", worker.seq))


def _report(s: State, me: int, without: frozenset[Safeguard], *, locked: bool) -> Iterator[Step]:
    """One step, for the job's row is locked and so read anew; without that lock it goes by what it saw first."""
    worker = s.workers[me]
    if worker.step == "reporting" and not locked:
        ended = _end(_mind(s, me, Worker()), worker.seq, worker.outcome, worker.was, without)
        yield f"worker {me}: its report goes on: {worker.outcome}", ended
    for outcome in {"fetching": ("temporary", "released"), "stored": ("stored",)}.get(worker.step, ()):
        if Safeguard.REPORT_LOCKS_JOB in without:
            seen = Worker("reporting", worker.seq, s.final, outcome)
            yield f"worker {me}: its report begins: {outcome}", _mind(s, me, seen)
        elif not locked:
            ended = _end(_mind(s, me, Worker()), worker.seq, outcome, s.final, without)
            yield f"worker {me}: reports: {outcome}", ended


def _end(s: State, seq: int, outcome: str, was: str | None, without: frozenset[Safeguard]) -> State:
    """`lease/report.sql`: no lease, no effect; else the attempt is recorded and the job settled or sent back."""
    if s.lease is None or (s.lease.seq != seq and Safeguard.FENCE not in without):
        return s
    if seq in s.ended:
        return s._replace(refused="an attempt recorded twice")
    s = s._replace(lease=None, ended=s.ended | {seq})
    if was is not None and Safeguard.REPORT_KEEPS_FINAL not in without:
        return s
    if outcome == "stored":
        return s._replace(final="succeeded", result=seq)
    s = s._replace(attempts=s.attempts + (outcome == "temporary"), lost=s.lost + (outcome == "lost"))
    if s.attempts >= MAX_ATTEMPTS or s.lost >= MAX_LOST:
        return s._replace(final="failed")
    return _put(s, "delayed", 1) if outcome == "temporary" else _put(s, "queued", s.fresh)


def _canceller(s: State, without: frozenset[Safeguard]) -> Iterator[Step]:
    """Locks the job, looks for its row place by place, makes it final and commits."""
    verb, looked, found = s.canceller
    if not verb:
        if s.final is None or Safeguard.CANCEL_LEAVES_FINAL in without:
            yield "client: cancels; the job is locked", s._replace(canceller=Canceller("cancel"))
        if s.final is None:
            yield "sweeper: expires it; the job is locked", s._replace(canceller=Canceller("expire"))
        return
    yield f"{verb}: is killed and rolled back", s._replace(canceller=Canceller())
    places = WRONG_LOOKS if Safeguard.LOOKS_IN_ORDER in without else LOOKS
    if found or looked == len(places) or not s.published:
        yield f"{verb}: commits", _settle(s, without)
        return
    place = places[looked]
    found = place if getattr(s, place) else ""
    if verb == "expire" and found == "lease":
        yield "expire: it runs, so it is left alone", s._replace(canceller=Canceller())
    else:
        yield f"{verb}: looks into {place}", s._replace(canceller=Canceller(verb, looked + 1, found))


def _settle(s: State, without: frozenset[Safeguard]) -> State:
    """Its last statement and its commit. The lease of a cancelled job stays: it is the host's slot."""
    verb, _, found = s.canceller
    gone = {found: 0} if found and found != "lease" else {}
    s = s._replace(canceller=Canceller(), told_cancelled=s.told_cancelled or verb == "cancel", **gone)
    if s.final is not None and Safeguard.CANCEL_LEAVES_FINAL not in without:
        return s
    return s._replace(final="cancelled" if verb == "cancel" else "failed")
