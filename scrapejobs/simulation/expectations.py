"""What a scenario must show. Each expectation looks at the record and says what it found."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Annotated, Literal

from msgspec import Meta, Struct

from scrapejobs.simulation.record import KINDS, Job, Kind, Record

ROUNDING_S = 1e-5
"""Times are sums of floats, and a host's timer rings a millionth late: a wait may be above its bound by this much."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One expectation, and what was found."""

    expected: str
    found: str
    is_met: bool


class _Expectation(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """Looks at what happened from `since` on and before `until`."""

    since: float = 0.0
    until: float = inf

    def title(self, text: str) -> str:
        if (self.since, self.until) == (0.0, inf):
            return text
        return f"{text}, from {self.since:g} s" + ("" if self.until == inf else f" to {self.until:g} s")


class Shares(_Expectation, frozen=True, tag="shares"):
    """Of all that `started` (attempts) or `finished` each name has this share, `within` so many parts of it: 0.02 of a
    share of 0.1 is 0.098 to 0.102. A group's name stands for all its members.
    """

    by: Kind = "tenant"
    of: Literal["started", "finished"] = "started"
    shares: dict[str, float] = {}
    within: Annotated[float, Meta(ge=0)] = 0.02

    def text(self) -> str:
        return self.title(f"shares of {self.of} by {self.by}: {_list(self.shares)} within {self.within:.1%}")

    def found(self, record: Record) -> dict[str, float]:
        """The share of each name; none at all when nothing was seen."""
        seen = record.started if self.of == "started" else record.finished
        counts = Counter(job.name(self.by) for job in seen(since=self.since, until=self.until))
        return {name: _total(counts, name) / counts.total() for name in self.shares} if counts else {}

    def check(self, record: Record) -> Finding:
        found = self.found(record)
        is_met = bool(found) and all(
            abs(found[name] - share) <= self.within * share + 1e-9 for name, share in self.shares.items()
        )
        return Finding(self.text(), _list(found) if found else f"nothing {self.of}", is_met)


class _OfSome(_Expectation, frozen=True):
    """Looks at the jobs of a tenant, a host, a priority, or of all, that arrived in its time."""

    tenant: str | None = None
    host: str | None = None
    priority: str | None = None

    def jobs(self, record: Record) -> list[Job]:
        return [job for job in record.jobs if self.since <= job.arrived_at < self.until and self._names(job)]

    def of(self) -> str:
        named = [f"{kind} {name}" for kind in KINDS if (name := getattr(self, kind)) is not None]
        return " of " + ", ".join(named) if named else ""

    def _names(self, job: Job) -> bool:
        wanted = ((kind, getattr(self, kind)) for kind in KINDS)
        return all(name is None or is_of(job.name(kind), name) for kind, name in wanted)


class GreatestWait(_OfSome, frozen=True, kw_only=True, tag="greatest_wait"):
    """No job waits longer than `at_most` seconds for its first start."""

    at_most: float

    def check(self, record: Record) -> Finding:
        waits = [record.wait_s(job) for job in self.jobs(record)]
        found = f"{max(waits):.3f} s" if waits else "no job"
        is_met = bool(waits) and max(waits) <= self.at_most + ROUNDING_S
        return Finding(self.title(f"greatest wait{self.of()}: at most {self.at_most:g} s"), found, is_met)


class Ahead(_OfSome, frozen=True, kw_only=True, tag="ahead"):
    """At most so many jobs of other tenants start while one waits for its first start."""

    at_most: int

    def check(self, record: Record) -> Finding:
        jobs = self.jobs(record)
        have_started = bool(jobs) and all(job.started_at is not None for job in jobs)
        most = max((job.ahead for job in jobs), default=0)
        text = self.title(f"others that start before a job{self.of()}: at most {self.at_most}")
        return Finding(text, str(most) if have_started else "not started", have_started and most <= self.at_most)


class AllFinish(_OfSome, frozen=True, tag="all_finish"):
    """Each job ends for good, by success or after its last attempt."""

    def check(self, record: Record) -> Finding:
        jobs = self.jobs(record)
        n = sum(job.ended_at is not None for job in jobs)
        return Finding(self.title(f"all jobs{self.of()} finish"), f"{n} of {len(jobs)}", bool(jobs) and n == len(jobs))


class MostRunning(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="most_running"):
    """At some moment exactly so many jobs of a tenant, priority or host run, and never more."""

    name: str
    exactly: int
    by: Kind = "host"

    def check(self, record: Record) -> Finding:
        most = record.most_running[self.by, self.name]
        return Finding(f"most running of {self.by} {self.name}: {self.exactly}", str(most), most == self.exactly)


class Order(_Expectation, frozen=True, kw_only=True, tag="order"):
    """The first starts are of these tenants, priorities or hosts, in this order."""

    first: list[str]
    by: Kind = "tenant"

    def check(self, record: Record) -> Finding:
        names = self._first(record.started(since=self.since, until=self.until))
        text = self.title(f"order of the first starts by {self.by}: {', '.join(self.first)}")
        return Finding(text, ", ".join(names), names == self.first)

    def _first(self, started: Iterator[Job]) -> list[str]:
        return [job.name(self.by) for job, _ in zip(started, self.first, strict=False)]


class Jain(_Expectation, frozen=True, kw_only=True, tag="jain"):
    """Jain's index of the tenants' starts by weight is this or more."""

    at_least: float

    def check(self, record: Record) -> Finding:
        index = record.jain(since=self.since, until=self.until)
        text = self.title(f"Jain's index over the tenants: at least {self.at_least:g}")
        return Finding(text, f"{index:.6f}", index >= self.at_least)


Expectation = Shares | GreatestWait | Ahead | AllFinish | MostRunning | Order | Jain


def findings(expectations: list[Expectation], record: Record) -> list[Finding]:
    """What each expectation found; and first, always, whether a host was given more than its limits allow."""
    politeness = Finding(
        "no host is given more than its limits allow",
        f"{len(record.violations)} times: {record.violations[0]}" if record.violations else "never",
        not record.violations,
    )
    return [politeness, *(expectation.check(record) for expectation in expectations)]


def is_of(name: str, wanted: str) -> bool:
    """Whether `name` is the one wanted, or of that group."""
    return wanted in (name, name.rpartition("-")[0])


def _total(counts: Counter[str], wanted: str) -> int:
    return sum(n for name, n in counts.items() if is_of(name, wanted))


def _list(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
