"""What is queued is counted now and then, and read without counting."""

import asyncio
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from scrapejobs.scheduler.census import IDLE_S, LEAST_S, Census
from scrapejobs.store import depths
from scrapejobs.store.link import Link
from scrapejobs.store.run import run_async
from tests.integration.factories import Conn, make_job, one

pytestmark = [pytest.mark.req("FR-13"), pytest.mark.case("S17")]


async def test_it_counts_by_tenant_and_host_the_longest_first_and_rests_longer_when_nothing_is_there(
    conn: Conn, database_url: str
) -> None:
    async with Link(database_url) as link:
        census = Census(link)
        assert await census.tick() >= IDLE_S
        await conn.execute("INSERT INTO tenant (id, name, webhook_secret) VALUES (1, 'acme', 'whsec_')")
        for host in ("a.example", "b.example", "b.example"):
            await make_job(conn, host=host)
        assert LEAST_S <= await census.tick() < IDLE_S * 100
    found = await run_async(conn, depths.read())
    assert found is not None
    assert found["queued"] == 3
    assert [(host["name"], host["n"]) for host in found["hosts"]] == [("b.example", 2), ("a.example", 1)]
    assert [(tenant["name"], tenant["n"]) for tenant in found["tenants"]] == [("acme", 3)]


async def test_the_oldest_that_may_start_is_found_behind_what_is_held_back(conn: Conn, database_url: str) -> None:
    for age_s, host in enumerate(("free.example", "crowded.example", "open.example", "deep.paused.example"), start=1):
        job = await make_job(conn, host=host)
        await conn.execute(
            "UPDATE queued SET queued_at = clock_timestamp() - make_interval(secs => %s) WHERE job_id = %s",
            [age_s * 1000.0, job.id],
        )
    await conn.execute("INSERT INTO crowded (host) VALUES ('crowded.example')")
    await conn.execute(
        "INSERT INTO circuit (host, failures, successes, retry_at) VALUES ('open.example', 0, 0, '2999-01-01')"
    )
    await conn.execute("INSERT INTO host (name, paused_until) VALUES ('*.paused.example', '2999-01-01')")
    await run_async(conn, depths.count())
    found = await run_async(conn, depths.read())
    assert found is not None
    assert found["oldest_runnable_s"] == pytest.approx(1000.0, abs=60.0)
    value = (await one(conn, "SELECT oldest_runnable_at FROM depth"))["oldest_runnable_at"]
    assert value == pytest.approx(datetime.now(UTC) - timedelta(seconds=1000), abs=timedelta(seconds=60))


async def test_a_person_sees_it(conn: Conn, database_url: str) -> None:
    await conn.execute("INSERT INTO tenant (id, name, webhook_secret) VALUES (1, 'acme', 'whsec_')")
    await make_job(conn, host="shop.example")
    await run_async(conn, depths.count())
    out = StringIO()
    await asyncio.to_thread(_call, out)
    head, *lines = out.getvalue().splitlines()
    assert head.startswith("1 queued, the oldest that may start has waited ")
    assert any(line.split()[:2] == ["acme", "1"] for line in lines)
    assert any(line.split()[:2] == ["shop.example", "1"] for line in lines)


def _call(out: StringIO) -> None:
    try:
        call_command("queues", stdout=out)
    finally:
        connection.close()
