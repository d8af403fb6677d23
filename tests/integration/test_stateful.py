"""The rules of a job's life on real Postgres: any verbs in any order on two connections, one of which may be left open.

A longer search, with other orders each time: `pytest tests/integration/test_stateful.py --hypothesis-profile=chaos`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from psycopg import AsyncConnection
from psycopg.errors import InFailedSqlTransaction, LockNotAvailable
from psycopg.rows import dict_row

from scrapejobs.domain.ids import object_key
from scrapejobs.domain.outcome import Cancelled, Lost, Outcome, Released, Stored
from scrapejobs.store import dispatch, transitions, upkeep
from scrapejobs.store.ids import new_id
from scrapejobs.store.reports import Ended, ended
from scrapejobs.store.run import Row, Verb, run_async
from scrapejobs.store.transitions import Cancellation, NewJob
from tests import servers
from tests.integration.factories import (
    PARAMS,
    PERMANENT,
    POLICY,
    STORED,
    TEMPORARY,
    WORKER,
    Conn,
    check_places,
    make_tenant,
    rows,
    tell,
    where,
)

CHAOS = settings.get_current_profile_name() == "chaos"
SHORT = settings(
    max_examples=30, stateful_step_count=40, derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate]
)  # as it fails it is shown: making the story shorter takes minutes, which the chaos profile has
JOBS = 3
HOW = st.sampled_from([0, 0, 0, 1, 2, 3, -1])
WHICH = st.integers(0, JOBS - 1)
OUTCOMES: list[Outcome] = [STORED, TEMPORARY, PERMANENT, Released(), Cancelled()]
Answered = Callable[[Any], None]

SEEN = """
SELECT job.*, ended.numbers, ended.stored, event.told, ended.n_lost,
    (SELECT number FROM lease WHERE job_id = job.id) AS running
FROM job CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(number ORDER BY number), '{}') AS numbers,
        coalesce(array_agg(seq) FILTER (WHERE outcome = 'stored'), '{}') AS stored,
        count(*) FILTER (WHERE outcome = 'lost') AS n_lost
    FROM attempt WHERE job_id = job.id) ended
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(finished_at), '{}') AS told FROM event WHERE job_id = job.id) event
"""


class Life(RuleBasedStateMachine):
    """`claims` are what workers hold in their minds, also of leases long lost; `expired` what a sweeper saw."""

    def __init__(self, database_url: str) -> None:
        super().__init__()
        self.runner, self.stack = asyncio.Runner(), AsyncExitStack()
        self.claims: list[Row] = []
        self.expired: list[Row] = []
        self.jobs: list[UUID] = []
        self.finals: dict[UUID, str | None] = {}
        self.ends: Counter[UUID] = Counter()
        self.cancelled: set[UUID] = set()
        self.started: dict[UUID, int] = {}
        self.requeued: set[UUID] = set()
        self.open: list[Callable[[], None]] = []
        self.runner.run(self._begin(database_url))
        for which in (0, 0, 0, 1, 1):
            self.move_on(how=0, which=which)

    async def _begin(self, database_url: str) -> None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            servers.wipe(connection)
        self.first, self.second, self.eye = [await self._connect(database_url) for _ in range(3)]
        await make_tenant(self.eye)
        self.epoch = await run_async(self.eye, dispatch.take(holder="me", lease_s=3600.0)) or 0
        for _ in range(JOBS):
            await self._submit()

    async def _connect(self, database_url: str) -> Conn:
        connection = await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row)
        await connection.execute("SET lock_timeout = '100ms'")
        return await self.stack.enter_async_context(connection)

    def do(self, verb: Verb[Any], how: int, then: Answered = lambda _: None) -> None:
        """A verb on the first connection; while one is open there, on the second. `how`: 0 commits at once, n after n
        verbs on the second, and -n rolls back after as many. An answer counts once it is committed.
        """
        self.runner.run(self._do(verb, how, then))

    async def _do(self, verb: Verb[Any], how: int, then: Answered) -> None:
        if not self.open:
            self.open = await self._try(self.first, verb, then)
            self.left, self.commits = abs(how), how >= 0
        else:
            self.left -= 1
            for done in await self._try(self.second, verb, then):
                await self._end(self.second, done, commits=True)
        if self.open and not self.left:
            await self._end(self.first, self.open.pop(), commits=self.commits)

    async def _try(self, connection: Conn, verb: Verb[Any], then: Answered) -> list[Callable[[], None]]:
        """What to do once it is committed; nothing when it would have had to wait."""
        await connection.execute("BEGIN")
        try:
            return [partial(then, await run_async(connection, verb))]
        except (LockNotAvailable, InFailedSqlTransaction):
            await connection.execute("ROLLBACK")
            return []

    async def _end(self, connection: Conn, done: Callable[[], None], *, commits: bool) -> None:
        await connection.execute("COMMIT" if commits else "ROLLBACK")
        if commits:
            done()

    async def _set(self, statement: str, job_id: UUID) -> None:
        with suppress(LockNotAvailable):
            await self.eye.execute(statement, [job_id])

    async def _submit(self) -> None:
        new = NewJob(
            id=new_id(), tenant_id=1, priority=1, url="http://shop.example/", host="shop.example", params=PARAMS,
            callback_url=None, tags={}, max_attempts=3, deadline_s=3600.0,
        )  # fmt: skip
        await run_async(self.eye, transitions.submit(new))
        self.jobs.append(new.id)

    @rule(how=HOW, which=WHICH)
    def move_on(self, *, how: int, which: int) -> None:
        """What the loops do next with a job, where it is; others that are as far may go along."""
        _, place = self.runner.run(where(self.eye, self.jobs[which]))
        match place:
            case "unpublished":
                self.do(transitions.publish(limit=2), how)
            case "delayed":
                tomorrow = datetime.now(UTC) + timedelta(days=1)
                self.do(transitions.promote(limit=2, now=tomorrow), how)
            case "queued":
                queued = self.runner.run(rows(self.eye, "SELECT seq FROM queued ORDER BY seq"))
                seqs = [row["seq"] for row in queued]
                self.do(dispatch.dispatch(seqs, epoch=self.epoch), how)
            case "ready":
                claim = transitions.claim(worker_id=WORKER, worker="w", limit=1, lease_s=3600.0)
                self.do(claim, how, self.claims.extend)

    @rule(how=HOW)
    def take_back(self, *, how: int) -> None:
        self.do(dispatch.take_back(epoch=self.epoch, ready_ttl_s=0.0), how)

    @rule(how=HOW)
    def renew(self, *, how: int) -> None:
        self.do(transitions.renew([row["seq"] for row in self.claims], lease_s=3600.0), how)

    @rule(how=HOW, which=st.integers(1, 3), outcome=st.sampled_from(OUTCOMES))
    def report(self, *, how: int, which: int, outcome: Outcome) -> None:
        """Also of a lease that is long lost: a late worker."""
        if self.claims:
            self.do(tell(_ended(self.claims[-which % len(self.claims)], outcome)), how)

    @rule(which=WHICH)
    def a_lease_ends_and_the_sweeper_sees_it(self, *, which: int) -> None:
        past = "UPDATE lease SET expires_at = clock_timestamp() - interval '1 second' WHERE job_id = %s"
        self.runner.run(self._set(past, self.jobs[which]))
        self.do(upkeep.expired(limit=9), 0, lambda seen: setattr(self, "expired", seen))

    @rule(how=HOW)
    def sweep(self, *, how: int) -> None:
        self.do(tell(*(ended(row, Lost(), expired_only=True) for row in self.expired)), how)

    @rule(how=HOW, which=WHICH, act=st.sampled_from(["cancel", "expire", "requeue", "discard"]))
    def act_from_outside(self, *, how: int, which: int, act: str) -> None:
        job_id = self.jobs[which]
        match act:
            case "cancel":
                self.do(transitions.cancel(job_id, tenant_id=1), how, partial(self._cancelled, job_id))
            case "expire":
                past = "UPDATE job SET deadline_at = clock_timestamp() - interval '1 second' WHERE id = %s"
                self.runner.run(self._set(past, job_id))
                self.do(transitions.expire(job_id), how)
            case "requeue":
                self.do(transitions.requeue(job_id, tenant_id=1), how, partial(self._requeued, job_id))
            case _:
                self.do(transitions.discard_all([job_id]), how)

    def _cancelled(self, job_id: UUID, done: Cancellation) -> None:
        if done.cancelled:
            self.cancelled.add(job_id)

    def _requeued(self, job_id: UUID, answer: str) -> None:
        if answer == "requeued":
            self.requeued.add(job_id)

    @rule(how=HOW, n=st.integers(1, JOBS))
    def finish(self, *, how: int, n: int) -> None:
        self.do(upkeep.finish([new_id() for _ in range(n)]), how)

    @invariant()
    def each_job_is_where_it_may_be(self) -> None:
        self.runner.run(check_places(self.eye))
        for row in self.runner.run(rows(self.eye, SEEN)):
            self._stays_final(row)
            _counts_its_attempts(row)
            _names_its_own_object(row)
            self._is_told_once_for_each_end(row)
            self._stays_cancelled(row)
        self.requeued.clear()

    def _stays_final(self, row: Row) -> None:
        was, is_ = self.finals.get(row["id"]), row["final_state"]
        if was is not None and row["id"] in self.requeued:
            assert (was, is_) == ("failed", None)
        elif was is not None:
            assert is_ == was, f"{was} became {is_}"
        self.ends[row["id"]] += was is None and is_ is not None
        self.finals[row["id"]] = is_

    def _is_told_once_for_each_end(self, row: Row) -> None:
        told, is_due = row["told"], row["final_state"] is not None and row["finish_published_at"] is None
        assert len(set(told)) == len(told) == self.ends[row["id"]] - is_due
        assert (row["finished_at"] in told) == (row["finish_published_at"] is not None)

    def _stays_cancelled(self, row: Row) -> None:
        """And one that nobody ran when the cancel was answered has not been started since."""
        if row["id"] in self.cancelled:
            assert row["final_state"] == "cancelled"
            started = len(row["numbers"]) + (row["running"] is not None)
            assert self.started.setdefault(row["id"], started) == started

    def teardown(self) -> None:
        try:
            for done in self.open:
                self.runner.run(self._end(self.first, done, commits=True))
            self.each_job_is_where_it_may_be()
            self.runner.run(self._come_to_an_end())
            self.each_job_is_where_it_may_be()
        finally:
            self.runner.run(self.stack.aclose())
            self.runner.close()

    async def _come_to_an_end(self) -> None:
        """Left to the loops alone, every job ends and is told."""
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        for _ in range(3):  # a lost worker at most sends a job back twice more
            for row in await run_async(self.eye, upkeep.expired(limit=9, now=tomorrow)):
                lost = ended(row, Lost(), expired_only=True)
                await run_async(self.eye, transitions.report([lost], policy=POLICY, random=lambda: 0.5, now=tomorrow))
            await run_async(self.eye, transitions.publish(limit=9))
            await run_async(self.eye, transitions.promote(limit=9, now=tomorrow))
            queued = await rows(self.eye, "SELECT seq FROM queued")
            await run_async(self.eye, dispatch.dispatch([row["seq"] for row in queued], epoch=self.epoch))
            claim = transitions.claim(worker_id=WORKER, worker="w", limit=9, lease_s=3600.0)
            claimed = await run_async(self.eye, claim)
            await run_async(self.eye, tell(*(_ended(row, STORED) for row in claimed)))
        await run_async(self.eye, upkeep.finish([new_id() for _ in range(9)]))
        assert not await rows(self.eye, "SELECT FROM job WHERE final_state IS NULL OR finish_published_at IS NULL")
        assert not await rows(self.eye, "SELECT FROM lease")


def _ended(claimed: Row, outcome: Outcome) -> Ended:
    """The end of a claimed attempt. A stored one has the key of that very attempt."""
    if isinstance(outcome, Stored):
        key = object_key(job_id=claimed["job_id"], tenant_id=1, seq=claimed["seq"])
        outcome = replace(outcome, result=replace(outcome.result, key=key))
    return ended(claimed, outcome)


def _counts_its_attempts(row: Row) -> None:
    """Numbered without a gap, each once, and the one under way is the next."""
    assert row["numbers"] == list(range(1, len(row["numbers"]) + 1))
    assert row["last_number"] == len(row["numbers"])
    assert row["running"] in (None, row["last_number"] + 1)
    assert row["lost"] <= row["n_lost"] or row["final_state"] == "cancelled"


def _names_its_own_object(row: Row) -> None:
    """At most one attempt's success was applied, and the job names the object of that one."""
    keys = [object_key(job_id=row["id"], tenant_id=1, seq=seq) for seq in row["stored"]]
    assert keys == ([row["result_key"]] if row["final_state"] == "succeeded" else [])


@pytest.mark.req("P2")
@pytest.mark.req("P4")
@pytest.mark.req("P6")
@pytest.mark.req("P7")
@pytest.mark.req("NFR-3")
@pytest.mark.case("S9")
@pytest.mark.timeout(7200 if CHAOS else 300)
def test_any_verbs_in_any_order_on_two_connections_break_no_rule(committed: None, database_url: str) -> None:
    run_state_machine_as_test(lambda: Life(database_url), settings=settings() if CHAOS else SHORT)
