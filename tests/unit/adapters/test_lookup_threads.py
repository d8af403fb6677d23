"""Look-ups that hang hold nobody up, for as long as there are threads."""

import asyncio
import threading

import pytest

from scrapejobs.adapters.lookup_threads import LookupThreads

pytestmark = pytest.mark.case("target-42")


async def test_twenty_calls_that_hang_do_not_hold_up_the_next_one() -> None:
    threads, let_go = LookupThreads(), threading.Event()
    hanging = [asyncio.create_task(threads.run(let_go.wait)) for _ in range(20)]
    try:
        async with asyncio.timeout(5):
            assert await threads.run(lambda: 42) == 42
        assert not any(task.done() for task in hanging)
    finally:
        let_go.set()
        await asyncio.gather(*hanging)


async def test_a_call_that_nobody_waits_for_any_more_keeps_its_thread_alone() -> None:
    threads, let_go = LookupThreads(), threading.Event()
    hanging = asyncio.create_task(threads.run(let_go.wait))
    await asyncio.sleep(0)
    hanging.cancel()
    try:
        async with asyncio.timeout(5):
            assert [await threads.run(threading.get_ident) for _ in range(3)]
    finally:
        let_go.set()


async def test_threads_are_used_again_and_are_never_more_than_allowed() -> None:
    threads, let_go = LookupThreads(most=3), threading.Event()
    used: set[int] = set()

    def call() -> None:
        used.add(threading.get_ident())
        let_go.wait()

    calls = [asyncio.create_task(threads.run(call)) for _ in range(10)]
    await asyncio.sleep(0)
    let_go.set()
    async with asyncio.timeout(5):
        await asyncio.gather(*calls)
        for _ in range(10):
            await threads.run(call)
    assert 1 <= len(used) <= 3


async def test_what_a_call_raises_is_raised_where_it_is_waited_for() -> None:
    with pytest.raises(ZeroDivisionError):
        await LookupThreads().run(lambda: 1 // 0)


async def test_a_thread_that_hangs_does_not_hold_up_the_end_of_the_process() -> None:
    threads, let_go, kinds = LookupThreads(), threading.Event(), []
    await threads.run(lambda: kinds.append(threading.current_thread().daemon))
    assert kinds == [True]
    let_go.set()
