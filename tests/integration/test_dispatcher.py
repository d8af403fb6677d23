"""The leased dispatcher on real Postgres: one leads, it moves what may start, and knows what others did."""

import asyncio
from uuid import UUID

import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from scrapejobs.domain.outcome import Temporary
from scrapejobs.domain.picking import HostLimits
from scrapejobs.domain.politeness import START_S
from scrapejobs.store import dispatch, transitions
from scrapejobs.store.run import run_async
from tests.integration.factories import (
    Conn,
    count,
    end_of,
    make_job,
    make_tenant,
    make_worker,
    one,
    rows,
    tell,
    until,
    where,
)
from tests.integration.schedulers import Schedulers, claim, end, take_lease_away


async def leading_epoch(conn: Conn) -> int:
    return int((await one(conn, "SELECT epoch FROM dispatcher"))["epoch"])


async def cut_others(conn: Conn) -> None:
    """Every connection but this one is cut, as by a restart of the server."""
    await conn.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )


@pytest.mark.req("NFR-8")
async def test_what_is_queued_is_ready_after_one_pass(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    jobs = [await make_job(conn) for _ in range(3)]
    await scheduler().tick()
    assert [await where(conn, job.id) for job in jobs] == [("queued", "ready")] * 3
    later = await make_job(conn)
    await scheduler.made[0].tick()
    assert await where(conn, later.id) == ("queued", "ready")


@pytest.mark.req("NFR-6")
async def test_no_more_is_made_ready_than_live_workers_have_free_slots(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=3)
    await make_worker(conn, slots=50, id_=UUID(int=2), silent_s=31.0)  # not heard of for longer than alive_s
    await make_worker(conn, slots=50, id_=UUID(int=3))
    await conn.execute("UPDATE service SET draining = true WHERE id = %s", [UUID(int=3)])
    for _ in range(8):
        await make_job(conn)
    me = scheduler()
    for _ in range(3):
        await me.tick()
        assert await count(conn, "ready") == 3
    taken = await claim(conn, 2)
    await me.tick()
    assert (await count(conn, "ready"), await count(conn, "lease")) == (1, 2)
    await end(conn, taken[0], Temporary("timeout", "t", "headers"))
    await me.tick()
    assert (await count(conn, "ready"), await count(conn, "lease")) == (2, 1)


@pytest.mark.req("NFR-6")
@pytest.mark.case("S9")
async def test_a_leader_that_was_stopped_and_goes_on_moves_nothing(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    old, new = scheduler(name="old"), scheduler(name="new")
    await old.tick()
    assert old.loop.leads
    await take_lease_away(conn)
    await new.tick()
    job = await make_job(conn)
    await old.tick()  # by its own clock its lease holds: the database says no
    assert not old.loop.leads
    assert await where(conn, job.id) == ("queued", "queued")
    await new.tick()
    assert await where(conn, job.id) == ("queued", "ready")


@pytest.mark.req("NFR-6")
@pytest.mark.case("S9")
async def test_a_write_of_an_epoch_that_is_over_changes_nothing(conn: Conn) -> None:
    epoch = await run_async(conn, dispatch.take(holder="a", lease_s=5.0))
    assert epoch is not None
    assert await run_async(conn, dispatch.take(holder="b", lease_s=5.0)) is None
    queued, ready = await make_job(conn), await make_job(conn, place="ready", ready_s=60.0)
    await take_lease_away(conn)
    for stale in (epoch, epoch - 1, epoch + 1):
        done = await run_async(conn, dispatch.dispatch([queued.seq], epoch=stale))
        assert (done.leads, done.moved) == (False, frozenset())
        assert await run_async(conn, dispatch.take_back(epoch=stale, ready_ttl_s=1.0)) == []
        assert not await run_async(conn, dispatch.hold(epoch=stale, lease_s=5.0))
    new = await run_async(conn, dispatch.take(holder="b", lease_s=5.0))
    assert new == epoch + 1
    assert not (await run_async(conn, dispatch.dispatch([queued.seq], epoch=epoch))).leads
    assert await run_async(conn, dispatch.take_back(epoch=epoch, ready_ttl_s=1.0)) == []
    assert not await run_async(conn, dispatch.resign(epoch=epoch))
    assert await where(conn, queued.id) == ("queued", "queued")
    assert await where(conn, ready.id) == ("queued", "ready")


@pytest.mark.req("NFR-6")
async def test_a_take_over_waits_for_a_dispatch_under_way_and_sees_it(
    conn: Conn, database_url: str, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    job = await make_job(conn, host="one.example")
    epoch = await run_async(conn, dispatch.take(holder="a", lease_s=60.0))
    assert epoch is not None
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as old:
        async with old.transaction():
            assert (await run_async(old, dispatch.dispatch([job.seq], epoch=epoch))).moved == {job.seq}
            resigning = asyncio.create_task(run_async(conn, dispatch.resign(epoch=epoch)))  # as a take-over writes
            watch = scheduler(name="watch").links[0]

            async def waits() -> bool:
                row = await one(
                    await watch.conn(), "SELECT cardinality(pg_blocking_pids(%s)) AS n", conn.info.backend_pid
                )
                return bool(row["n"])

            await until(waits)
        assert await resigning
    new = scheduler(default=HostLimits(1000.0, 1000.0, 1))
    second = await make_job(conn, host="one.example")
    await new.tick()
    assert await where(conn, job.id) == ("queued", "ready")
    assert await where(conn, second.id) == ("queued", "queued")  # the host's one slot is taken by the first


@pytest.mark.req("NFR-6")
@pytest.mark.case("S24")
async def test_a_new_leader_counts_what_others_made_ready_and_what_runs(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    running = await make_job(conn, status="running", host="one.example")
    await make_job(conn, place="ready", host="two.example")
    blocked = [await make_job(conn, host=host) for host in ("one.example", "two.example")]
    free = await make_job(conn, host="three.example")
    me = scheduler(default=HostLimits(1000.0, 1000.0, 1))
    await me.tick()
    await me.tick(after_s=1.0)
    assert await where(conn, free.id) == ("queued", "ready")
    assert [await where(conn, job.id) for job in blocked] == [("queued", "queued")] * 2
    await run_async(conn, tell(end_of(running, Temporary("timeout", "t", "headers"))))
    await me.tick()
    assert await where(conn, blocked[0].id) == ("queued", "ready")


@pytest.mark.req("NFR-8")
async def test_a_leader_rests_while_no_slot_is_free_though_a_host_may_start_more(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=2)
    me = scheduler(default=HostLimits(1.0, 1.0, 1000))
    await me.tick()
    for _ in range(3):
        await make_job(conn, host="one.example")
    await me.tick(after_s=1.5)
    assert await count(conn, "ready") == 1
    assert await me.tick() <= 1.0  # until the host's next token
    await make_job(conn, host="two.example")
    await me.tick()
    assert await count(conn, "ready") == 2
    assert await me.tick(after_s=10.0) >= 0.25  # the token is there, and nobody to use it


@pytest.mark.req("FR-11")
async def test_changed_limits_hold_within_a_second_for_what_is_queued(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    for _ in range(4):
        await make_job(conn)
    me = scheduler(default=HostLimits(1000.0, 1000.0, 1))
    await me.tick()
    await me.tick(after_s=1.0)
    assert await count(conn, "ready") == 1
    await conn.execute("INSERT INTO host (name, concurrency) VALUES ('*.example', 3)")
    assert await me.tick() <= 1.0
    await me.tick(after_s=1.0)
    assert await count(conn, "ready") == 3
    await conn.execute("INSERT INTO host (name, concurrency) VALUES ('shop.example', 4)")
    await me.tick(after_s=1.0)
    assert await count(conn, "ready") == 4


@pytest.mark.req("FR-11")
@pytest.mark.req("NFR-7")
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "0"])
@pytest.mark.parametrize("column", ["host.rate", "host.burst", "tenant.weight"])
async def test_a_limit_that_no_picker_can_count_with_is_refused_by_the_database(
    conn: Conn, column: str, value: str
) -> None:
    await make_tenant(conn)
    await conn.execute("INSERT INTO host (name) VALUES ('one.example')")
    table, _, name = column.partition(".")
    with pytest.raises(psycopg.errors.CheckViolation):
        await conn.execute(f"UPDATE {table} SET {name} = %s::float8", [value])  # noqa: S608


@pytest.mark.req("FR-11")
@pytest.mark.req("NFR-7")
@pytest.mark.parametrize("time", ["infinity", "-infinity"])
async def test_a_pause_without_a_distance_from_now_is_refused_by_the_database(conn: Conn, time: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        await conn.execute("INSERT INTO host (name, paused_until) VALUES ('one.example', %s)", [time])


@pytest.mark.req("FR-11")
@pytest.mark.req("FR-12")
async def test_the_greatest_and_smallest_limits_dispatch_as_others_do(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    await make_tenant(conn, id_=1, weight=1e-6)
    await make_tenant(conn, id_=2, weight=1e6)
    await conn.execute("INSERT INTO host (name, rate, burst, concurrency) VALUES ('one.example', 1e6, 1e6, 2147483647)")
    jobs = [await make_job(conn, host="one.example", tenant=tenant) for tenant in (1, 2, 1, 2)]
    me = scheduler()
    await me.tick()
    await me.tick(after_s=1.0)
    assert [await where(conn, job.id) for job in jobs] == [("queued", "ready")] * 4


@pytest.mark.req("FR-11")
async def test_a_paused_host_starts_nothing_until_it_is_resumed(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    me = scheduler()
    await me.tick()
    await conn.execute("INSERT INTO host (name, paused_until) VALUES ('*.example', '9999-01-01Z')")
    paused, other = await make_job(conn), await make_job(conn, host="else.test")
    await me.tick(after_s=1.0)
    await me.tick(after_s=1.0)
    assert await where(conn, paused.id) == ("queued", "queued")
    assert await where(conn, other.id) == ("queued", "ready")
    await conn.execute("UPDATE host SET paused_until = NULL")
    await me.tick(after_s=1.0)
    assert await where(conn, paused.id) == ("queued", "ready")


@pytest.mark.req("FR-5")
@pytest.mark.case("S11")
@pytest.mark.case("S17")
async def test_what_is_cancelled_or_expires_at_a_paused_host_leaves_the_leaders_memory_and_nothing_else_does(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    await conn.execute("INSERT INTO host (name, paused_until) VALUES ('*.example', '9999-01-01Z')")
    cancelled = [await make_job(conn, host=f"{n}.example") for n in range(5)]
    expired = await make_job(conn, host="1.example", deadline_s=-0.1)
    kept = await make_job(conn, host="1.example")
    me = scheduler()
    await me.tick()
    assert me.loop._term is not None
    picker = me.loop._term.picker
    for job in cancelled:
        await run_async(conn, transitions.cancel(job.id, tenant_id=None))
    assert await run_async(conn, transitions.expire(expired.id))
    await me.tick()
    assert picker.queued == 7
    await me.tick(after_s=60.0)
    assert dict(picker.entries()) == {kept.seq: (1, 1, "1.example")}
    await conn.execute("UPDATE host SET paused_until = NULL")
    await conn.execute("UPDATE service SET seen_at = clock_timestamp()")
    await me.tick(after_s=1.0)
    assert await where(conn, kept.id) == ("queued", "ready")


@pytest.mark.req("NFR-6")
@pytest.mark.case("S21")
async def test_a_host_that_asked_for_a_rest_gets_it_from_the_very_next_job_on(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    jobs = [await make_job(conn, host="one.example") for _ in range(3)]
    me = scheduler(default=HostLimits(1000.0, 1000.0, 1))
    await me.tick()
    await me.tick(after_s=1.0)
    (row,) = await claim(conn, 10)
    await me.tick()
    await end(conn, row, Temporary("http_429", "t", "headers", retry_after_s=60.0))
    for _ in range(3):
        await me.tick()  # the slot is free again, and the limits were read a moment ago
    assert await count(conn, "ready") == 0
    assert {await where(conn, job.id) for job in jobs} == {("queued", "delayed"), ("queued", "queued")}


@pytest.mark.req("NFR-5")
async def test_a_tenant_has_no_more_jobs_in_progress_than_its_cap(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=10)
    await make_tenant(conn, id_=1, max_running=2)
    for _ in range(4):
        await make_job(conn, tenant=1)
    await make_job(conn, tenant=2)
    me = scheduler()
    await me.tick()
    await me.tick(after_s=1.0)
    by_tenant = "SELECT tenant_id, count(*) AS n FROM ready GROUP BY tenant_id ORDER BY tenant_id"
    assert await rows(conn, by_tenant) == [{"tenant_id": 1, "n": 2}, {"tenant_id": 2, "n": 1}]
    await conn.execute("UPDATE tenant SET max_running = 3")
    await me.tick(after_s=1.0)
    assert await rows(conn, by_tenant) == [{"tenant_id": 1, "n": 3}, {"tenant_id": 2, "n": 1}]


@pytest.mark.req("NFR-6")
async def test_a_ready_row_that_nobody_takes_goes_back_with_its_slot_and_token(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    one_slot_one_token = HostLimits(0.001, 1.0, 1)
    me = scheduler(default=one_slot_one_token)
    await me.tick()
    job = await make_job(conn)
    await me.tick(after_s=2000.0)  # the bucket is full
    assert await where(conn, job.id) == ("queued", "ready")
    seq = (await one(conn, "SELECT seq FROM ready"))["seq"]
    await conn.execute("UPDATE ready SET ready_at = clock_timestamp() - interval '3 seconds'")
    await conn.execute("UPDATE service SET seen_at = '-infinity'")
    await me.tick(after_s=1.0)
    assert await where(conn, job.id) == ("queued", "queued")
    await conn.execute("UPDATE service SET seen_at = clock_timestamp()")
    await me.tick()
    await me.tick()
    assert await where(conn, job.id) == ("queued", "ready")  # without the token it would wait for 1000 s
    assert (await one(conn, "SELECT seq FROM ready"))["seq"] > seq


@pytest.mark.req("FR-5")
async def test_an_entry_cancelled_before_its_dispatch_gives_slot_and_token_back(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=0)
    me = scheduler(default=HostLimits(0.001, 1.0, 1))
    await me.tick()
    first, second = await make_job(conn), await make_job(conn)
    await me.tick(after_s=2000.0)
    await run_async(conn, transitions.cancel(first.id, tenant_id=1))
    await conn.execute("UPDATE service SET slots = 10")
    await me.tick()
    await me.tick()
    assert await where(conn, second.id) == ("queued", "ready")


@pytest.mark.req("NFR-8")
async def test_a_standby_takes_over_at_once_when_the_leader_resigns(conn: Conn, scheduler: Schedulers) -> None:
    leader, standby = scheduler(name="a"), scheduler(name="b")
    await leader.tick()
    assert await standby.tick() <= 1.0
    assert not standby.loop.leads
    await leader.loop.aclose()
    await standby.tick()
    assert standby.loop.leads
    assert not leader.loop.leads


@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-8")
async def test_a_long_transaction_elsewhere_stalls_nothing_and_its_late_entry_is_seen_once(
    conn: Conn, database_url: str, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    me = scheduler()
    await me.tick()
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as slow:
        async with slow.transaction():
            early = await make_job(slow)  # its number is given before those that follow
            for _ in range(3):
                job = await make_job(conn)
                await me.tick()
                assert await where(conn, job.id) == ("queued", "ready")
        assert await count(conn, "ready") == 3
    await me.tick()
    assert await where(conn, early.id) == ("queued", "ready")
    await me.tick()
    assert await count(conn, "ready") == 4


@pytest.mark.req("NFR-3")
async def test_appended_gives_each_entry_once_whatever_the_order_of_commits(conn: Conn, database_url: str) -> None:
    seen: list[int] = []
    since = await run_async(conn, dispatch.snapshot())

    async def look() -> None:
        nonlocal since
        found = await run_async(conn, dispatch.appended(since=since))
        since = found.snapshot
        seen.extend(row["seq"] for row in found.entries)

    made: list[int] = []
    others = [await AsyncConnection.connect(database_url, autocommit=False, row_factory=dict_row) for _ in range(3)]
    for late in others:
        made.append((await make_job(late)).seq)
        await look()
    for late in reversed(others):
        made.append((await make_job(conn)).seq)
        await late.commit()
        await look()
        await late.close()
    await look()
    assert sorted(seen) == sorted(made)


@pytest.mark.req("NFR-10")
async def test_the_floor_rises_with_the_living_rows_and_hides_none(conn: Conn, scheduler: Schedulers) -> None:
    await make_worker(conn, slots=4)
    me = scheduler()
    for _ in range(4):
        await make_job(conn)
    await me.tick()
    await claim(conn, 3)
    await me.tick(after_s=1.0)
    floor = (await one(conn, "SELECT last_value FROM ready_floor"))["last_value"]
    assert floor == (await one(conn, "SELECT min(pos) AS pos FROM ready"))["pos"]
    assert len(await claim(conn, 9)) == 1
    await me.tick(after_s=1.0)
    await conn.execute("UPDATE service SET slots = 9")
    await make_job(conn)
    await me.tick()
    assert len(await claim(conn, 9)) == 1


@pytest.mark.req("NFR-8")
@pytest.mark.case("S7")
async def test_after_its_connections_were_cut_the_dispatcher_leads_again_without_waiting_for_its_lease(
    conn: Conn, scheduler: Schedulers
) -> None:
    await make_worker(conn, slots=10)
    me = scheduler()
    await me.tick()
    epoch = await leading_epoch(conn)
    await cut_others(conn)
    job = await make_job(conn)
    with pytest.raises(psycopg.OperationalError):
        await me.tick()
    assert not me.loop.leads
    with pytest.raises(psycopg.OperationalError):
        await me.tick()  # its second connection was cut too
    await me.tick()
    assert await where(conn, job.id) == ("queued", "ready")
    assert await leading_epoch(conn) == epoch + 1  # what it may have sent before is fenced


@pytest.mark.req("NFR-6")
async def test_only_the_last_holder_takes_a_lease_before_its_end(conn: Conn) -> None:
    first = await run_async(conn, dispatch.take(holder="a", lease_s=0.0))
    second = await run_async(conn, dispatch.take(holder="b", lease_s=60.0))
    assert first is not None
    assert second is not None
    assert await run_async(conn, dispatch.take(holder="a", lease_s=1.0, epoch=first)) is None
    assert await run_async(conn, dispatch.take(holder="b", lease_s=60.0, epoch=second)) == second + 1
    assert not await run_async(conn, dispatch.hold(epoch=second, lease_s=60.0))


@pytest.mark.req("NFR-8")
async def test_a_dispatcher_that_failed_before_it_was_stopped_hands_over_all_the_same(
    conn: Conn, scheduler: Schedulers
) -> None:
    old, new = scheduler(name="old"), scheduler(name="new")
    await old.tick()
    await cut_others(conn)
    with pytest.raises(psycopg.OperationalError):
        await old.tick()
    with pytest.raises(psycopg.OperationalError):
        await old.loop.aclose()  # over the connection that was cut
    await old.loop.aclose()
    await new.tick()
    assert new.loop.leads


@pytest.mark.req("NFR-6")
async def test_a_token_is_spent_only_when_its_request_must_have_reached_its_host(
    conn: Conn, scheduler: Schedulers
) -> None:
    """With a token in 100 s the next job may start so long after the latest arrival of the one before; not after its
    claim. The dispatcher's clock is set forward by a second, and tells.
    """
    await make_worker(conn, slots=9)
    me = scheduler(default=HostLimits(0.01, 1.0, 9))
    await make_job(conn, host="a")
    await make_job(conn, host="a")
    await me.tick()
    await me.tick(after_s=100.1)
    assert len(await claim(conn, 9)) == 1
    await me.tick()
    await me.tick(after_s=1.0)
    told = await one(conn, "SELECT extract(epoch FROM until - started_at)::float8 AS after_s FROM crowded, lease")
    assert told["after_s"] + 1.0 >= 100.0 + START_S
