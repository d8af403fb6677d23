"""Day partitions: made ahead, and every id finds its own."""

from datetime import timedelta

import psycopg
import pytest

from scrapejobs.domain.ids import day_of, first_of_day
from scrapejobs.store import partitions
from scrapejobs.store.run import run_async
from tests.integration.factories import Conn, make_job, one, today_utc


@pytest.mark.req("NFR-1")
@pytest.mark.req("NFR-9")
async def test_partitions_made_twice_are_there_once_for_yesterday_and_the_days_ahead(conn: Conn) -> None:
    today = today_utc()
    for _ in range(2):
        for statement in partitions.create_statements(today, days_ahead=14):
            await conn.execute(statement)
    days = await run_async(conn, partitions.days())
    assert days == sorted(set(days))
    assert {today + timedelta(days=offset) for offset in range(-1, 15)} <= set(days)


@pytest.mark.req("NFR-9")
async def test_the_first_and_the_last_id_of_a_day_are_in_its_partition(conn: Conn) -> None:
    today = today_utc()
    last = type(first_of_day(today))(int=first_of_day(today + timedelta(days=1)).int - 1)
    for id_ in (first_of_day(today), last):
        assert day_of(id_) == today
        await make_job(conn, id=id_)
        row = await one(conn, "SELECT tableoid::regclass::text AS name FROM job WHERE id = %s", id_)
        assert row["name"] == partitions.name_of("job", today)


@pytest.mark.req("NFR-1")
async def test_a_job_of_a_day_without_a_partition_is_refused_rather_than_lost(conn: Conn) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        await make_job(conn, id=first_of_day(today_utc() + timedelta(days=400)))
