"""The picker on virtual time: what comes in, starts and ends is an event, and between events nothing happens.

All that is random comes from the scenario's seed, so the same scenario gives the same record.
"""

from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Final

from scrapejobs.domain.outcome import Temporary
from scrapejobs.domain.politeness import EVER
from scrapejobs.domain.retry import RetryPolicy, Standing, plan
from scrapejobs.simulation.arrivals import jobs_of
from scrapejobs.simulation.orders import chooser_of
from scrapejobs.simulation.record import KINDS, Job, Record
from scrapejobs.simulation.scenario import Scenario
from scrapejobs.simulation.watch import Watch

RETRIES: Final = RetryPolicy(base_s=2.0, cap_s=600.0, retry_after_cap_s=3600.0, max_lost=3)
"""As the settings are by default."""


def simulate(scenario: Scenario) -> Record:
    """Lives through the scenario. ScenarioError when its arrivals cannot be read."""
    random = _random(scenario)
    return Simulation(scenario, jobs_of(scenario, random), random).run()


def simulate_jobs(scenario: Scenario, jobs: list[Job]) -> Record:
    """Lives through jobs of one's own, earliest first, instead of the scenario's arrivals."""
    return Simulation(scenario, jobs, _random(scenario)).run()


def _random(scenario: Scenario) -> Random:
    return Random(scenario.seed)  # noqa: S311 - a simulation, to be repeated


class Simulation:
    """One pool of slots, the chooser, and the events that are yet to come."""

    def __init__(self, scenario: Scenario, jobs: list[Job], random: Random) -> None:
        """`jobs` come in by their times, earliest first."""
        names = list(dict.fromkeys(job.tenant for job in jobs))
        self._scenario = scenario
        self._random = random
        self._tenant_ids = {name: number for number, name in enumerate(names)}
        self._closed_until: dict[str, float] = {}
        self._chooser = chooser_of(
            scenario, tenant_names=names, closed_until_of=lambda host: self._closed_until.get(host, EVER)
        )
        self._record = Record(jobs, weight_of=lambda tenant: scenario.tenant(tenant).weight)
        self._watch = Watch(limits_of=lambda host: scenario.host(host).limits, violations=self._record.violations)
        self._free = scenario.slots
        self._entries: dict[int, Job] = {}  # by seq; a retry is a new entry
        self._n_entries = 0
        self._events: list[tuple[float, int, Callable[[float, int], None], int]] = []
        self._n_events = 0
        self._n_arrived = 0
        self._n_started = 0
        self._started_of: Counter[str] = Counter()  # by tenant
        self._running: Counter[tuple[str, str]] = Counter()

    def run(self) -> Record:
        now = 0.0
        while (at := self._next_at()) < self._scenario.end and at < inf:
            now = max(now, at)
            self._arrive(now)
            while self._events and self._events[0][0] <= now:
                _, _, act, seq = heappop(self._events)
                act(now, seq)
            if self._free:
                for seq in self._chooser.pick(now, self._free):
                    self._start(now, seq)
        self._record.ended_at = now if self._scenario.duration is None else self._scenario.duration
        return self._record

    # ---- events

    def _next_at(self) -> float:
        jobs = self._record.jobs
        arrival = jobs[self._n_arrived].arrived_at if self._n_arrived < len(jobs) else inf
        event = self._events[0][0] if self._events else inf
        return min(arrival, event, self._chooser.next_timer() if self._free else inf)

    def _at(self, at: float, act: Callable[[float, int], None], seq: int) -> None:
        self._n_events += 1
        heappush(self._events, (at, self._n_events, act, seq))

    def _arrive(self, now: float) -> None:
        jobs = self._record.jobs
        while self._n_arrived < len(jobs) and jobs[self._n_arrived].arrived_at <= now:
            job = jobs[self._n_arrived]
            self._n_arrived += 1
            job.ahead = -self._starts_of_others(job)
            self._queue(now, self._new_entry(job))

    def _queue(self, now: float, seq: int) -> None:
        job = self._entries[seq]
        tenant = self._tenant_ids[job.tenant]
        self._chooser.add(now, seq=seq, priority=job.priority, tenant=tenant, host=job.host)

    def _start(self, now: float, seq: int) -> None:
        self._chooser.claimed(now, seq, at=now)
        job = self._entries[seq]
        if job.started_at is None:
            job.started_at = now
            job.ahead += self._starts_of_others(job)
            self._n_started += 1
            self._started_of[job.tenant] += 1
        job.attempts += 1
        self._free -= 1
        self._record.starts.append((now, job))
        self._watch.start(now, job.host)
        for kind in KINDS:
            key = kind, job.name(kind)
            self._running[key] += 1
            self._record.most_running[key] = max(self._record.most_running[key], self._running[key])
        self._at(now + self._lasts(job), self._end, seq)

    def _end(self, now: float, seq: int) -> None:
        job = self._entries.pop(seq)
        self._free += 1
        self._watch.end(job.host)
        for kind in KINDS:
            self._running[kind, job.name(kind)] -= 1
        self._chooser.finish(now, seq)
        failure = self._failure(job)
        if failure is None:
            job.ended_at, job.has_failed = now, job.fails
        else:
            self._plan(now, job, failure)

    # ---- how attempts end

    def _lasts(self, job: Job) -> float:
        if job.lasts:
            return job.lasts[job.attempts - 1]
        seconds = self._scenario.host(job.host).seconds
        return self._random.uniform(*seconds) if isinstance(seconds, list) else seconds

    def _failure(self, job: Job) -> Temporary | None:
        if job.attempts < len(job.lasts):
            return Temporary("http_503")
        host = self._scenario.host(job.host)
        if not (host.limited or host.failures):
            return None
        drawn = self._random.random()
        if drawn < host.limited:
            return Temporary("http_429", retry_after_s=host.retry_after)
        return Temporary("http_503") if drawn < host.limited + host.failures else None

    def _plan(self, now: float, job: Job, failure: Temporary) -> None:
        """As the product's planner decides: the host pauses, the job tries again later or has failed."""
        standing = Standing(
            attempts=job.attempts - 1, lost=0, max_attempts=self._scenario.max_attempts,
            remaining_s=inf, may_repeat=True, number=job.attempts,
        )  # fmt: skip
        planned = plan(failure, standing, RETRIES, random=self._random.random)
        if planned.host_pause_s is not None:
            self._pause(now, job.host, now + planned.host_pause_s)
        if planned.next == "queued":
            self._at(now + planned.delay_s, self._queue, self._new_entry(job))
        else:
            job.ended_at, job.has_failed = now, True

    def _pause(self, now: float, host: str, until: float) -> None:
        if until > self._closed_until.get(host, EVER):
            self._closed_until[host] = until
            self._watch.pause(host, until)
            self._chooser.close_host(now, host, until)

    # ---- books

    def _new_entry(self, job: Job) -> int:
        self._n_entries += 1
        self._entries[self._n_entries] = job
        return self._n_entries

    def _starts_of_others(self, job: Job) -> int:
        return self._n_started - self._started_of[job.tenant]
