"""Threads for calls that may hang: the system's resolver takes half a minute for a name whose servers do not answer.

A pool of the standard library has two faults here: few threads, so that some hanging look-ups hold up all others, and a
join at the end of the process, so that a hanging one holds up the exit (P8).
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")
_Call = tuple["asyncio.Future[Any]", Callable[[], Any]]

MOST: Final = 512
"""For a worker of many slots: beside each look-up that is waited for, some hang that nobody waits for any more."""


class LookupThreads:
    """Runs blocking calls, each in a thread of its own; threads are made as needed and kept for the next call."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._n_threads = 0

    async def run(self, call: Callable[[], T]) -> T:
        """What `call` returns or raises. When cancelled, the call goes on by itself and nobody hears of it."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._calls.put((answer, call))
        if not self._idle.acquire(blocking=False) and self._n_threads < self._most:
            self._n_threads += 1
            threading.Thread(target=self._work, name="lookup", daemon=True).start()
        return await answer

    def _next(self) -> _Call:
        with suppress(queue.Empty):
            return self._calls.get_nowait()
        self._idle.release()
        return self._calls.get()

    def _work(self) -> None:
        while True:
            answer, call = self._next()
            error: Exception | None = None
            value: Any = None
            try:
                value = call()
            except Exception as raised:  # noqa: BLE001 - it is the caller's
                error = raised
            with suppress(RuntimeError):  # the loop is closed
                answer.get_loop().call_soon_threadsafe(_tell, answer, value, error)


def _tell(answer: asyncio.Future[Any], value: Any, error: Exception | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(value)
