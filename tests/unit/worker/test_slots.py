"""Slots and what breaks an attempt off; no I/O."""

import asyncio
from uuid import UUID

import pytest

from scrapejobs.worker.slots import MOST_REPORTING, Break, Held, Slots

JOB = UUID(int=1)


def held(**fields: bool) -> Held:
    return Held({"seq": 5, "job_id": JOB}, ends_at=10.0, deadline_at=100.0, **fields)


@pytest.mark.req("NFR-10")
def test_free_is_what_is_not_held_and_a_job_is_found_by_its_id() -> None:
    one = held()
    slots = Slots(3, {one.seq: one})
    assert slots.free == 2
    assert slots.of_job(JOB) is one
    assert slots.of_job(UUID(int=2)) is None


@pytest.mark.req("NFR-8")
def test_what_waits_for_its_report_to_be_noted_takes_up_no_slot() -> None:
    slots = Slots(3, {1: held(), 2: held(reporting=True)})
    assert slots.free == 2


@pytest.mark.req("NFR-10")
def test_with_too_many_reports_waiting_there_is_less_room_and_in_the_end_none() -> None:
    reporting = {seq: held(reporting=True) for seq in range(MOST_REPORTING + 1)}
    slots = Slots(3, {-1: held()} | reporting)
    assert slots.free == 1
    slots.held[-2] = held(reporting=True)
    assert slots.free == 0


@pytest.mark.req("FR-5")
@pytest.mark.case("S12")
async def test_an_attempt_that_reports_is_not_broken_off() -> None:
    one = held(started=True, reporting=True)
    one.task = asyncio.create_task(asyncio.sleep(0))
    one.break_off(Break.CANCELLED)
    await one.task
    assert one.broken is None
    assert list(Slots(1, {5: one}).fetching()) == []


@pytest.mark.req("FR-5")
async def test_the_first_reason_for_breaking_off_stands() -> None:
    one = held(started=True)
    one.task = asyncio.create_task(asyncio.Event().wait())  # type: ignore[assignment]
    await asyncio.sleep(0)
    one.break_off(Break.CANCELLED)
    one.break_off(Break.DRAINED)
    with pytest.raises(asyncio.CancelledError):
        await one.task
    assert one.broken is Break.CANCELLED


@pytest.mark.req("FR-5")
async def test_an_attempt_that_has_not_begun_is_marked_and_left_to_end_itself() -> None:
    one = held()
    one.task = asyncio.create_task(asyncio.sleep(0))
    one.break_off(Break.LOST)
    await one.task
    assert one.broken is Break.LOST
