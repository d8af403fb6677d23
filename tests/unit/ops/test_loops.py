"""The loop runner: how loops end."""

import asyncio

import pytest

from scrapejobs.ops.loops import _end


@pytest.mark.req("NFR-7")
async def test_a_loop_that_lost_its_first_cancel_is_ended_by_the_next() -> None:
    async def loses_one() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    task = asyncio.create_task(loses_one())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await _end([task], patience_s=0.0)
    assert task.cancelled()


@pytest.mark.req("NFR-7")
async def test_a_loop_that_ends_by_itself_is_not_cancelled() -> None:
    task = asyncio.create_task(asyncio.sleep(0))
    await _end([task])
    assert not task.cancelled()
