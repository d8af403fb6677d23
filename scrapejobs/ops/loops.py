"""Runs loops: waking, resting, backing off, telling of their health, and draining at the end."""

import asyncio
import gc
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from scrapejobs.adapters.bus import Bus
from scrapejobs.ops import stopping
from scrapejobs.ops.health import Health
from scrapejobs.telemetry import events

POLL_WITHOUT_BUS_S: Final = 0.25
BACK_OFF_S: Final = 0.2
BACK_OFF_CAP_S: Final = 2.0
HUNG_AFTER_S: Final = 120.0
STOP_S: Final = 3.0
CANCELS: Final = 3


class Loop(Protocol):
    """A loop is one pass and the seconds to rest after it, unless one of its topics wakes it before."""

    @property
    def name(self) -> str: ...
    @property
    def wakes_on(self) -> frozenset[str]: ...

    async def tick(self) -> float: ...


class Wakes:
    """Topics, and the loops of this process that wait for them."""

    def __init__(self) -> None:
        self._events: list[asyncio.Event] = []
        self._by_topic: defaultdict[str, list[asyncio.Event]] = defaultdict(list)

    def event_for(self, topics: Iterable[str]) -> asyncio.Event:
        """Is set whenever one of these topics is signalled, or all are."""
        event = asyncio.Event()
        self._events.append(event)
        for topic in topics:
            self._by_topic[topic].append(event)
        return event

    def signal(self, topic: str) -> None:
        for event in self._by_topic.get(topic, ()):
            event.set()

    def signal_all(self) -> None:
        for event in self._events:
            event.set()


@dataclass(frozen=True, slots=True)
class Crew:
    """The loops of one role. `drain` lets what is under way end while the loops still run; `leave` comes last."""

    loops: Sequence[Loop]
    drain: Callable[[], Awaitable[None]]
    leave: Callable[[], Awaitable[None]]


async def run_crew(crew: Crew, *, bus: Bus, wakes: Wakes, health: Health) -> None:
    """Runs a role until SIGTERM or SIGINT, then drains it. Returns when all is handed over."""
    gc.freeze()  # what was loaded stays: the cycle collector need not walk it again and again
    told_to_stop, call = asyncio.Event(), asyncio.get_running_loop().call_soon_threadsafe
    with stopping.instead(lambda: call(told_to_stop.set)):
        await _run_until(told_to_stop, crew, bus=bus, wakes=wakes, health=health)


async def _run_until(told_to_stop: asyncio.Event, crew: Crew, *, bus: Bus, wakes: Wakes, health: Health) -> None:
    ended = asyncio.Event()
    for loop in crew.loops:
        health.ready(loop.name, ok=False, detail="starting")
    hearing = asyncio.create_task(bus.listen(), name="bus")
    tasks = [
        asyncio.create_task(drive(loop, bus=bus, wakes=wakes, health=health, ended=ended), name=loop.name)
        for loop in crew.loops
    ]
    try:
        await told_to_stop.wait()
        health.draining()
        await crew.drain()
        ended.set()
        wakes.signal_all()
        await _end(tasks)
        await crew.leave()
    finally:
        await _end([hearing], patience_s=0.0)
        await bus.aclose()


async def drive(loop: Loop, *, bus: Bus, wakes: Wakes, health: Health, ended: asyncio.Event) -> None:
    """Ticks a loop until `ended`, of which all loops are signalled. A failed tick is told, and tried again after a
    growing, jittered rest.
    """
    woken = wakes.event_for(loop.wakes_on)
    failures = 0
    while not ended.is_set():
        woken.clear()
        health.beat(loop.name, stale_after_s=HUNG_AFTER_S)
        began = time.monotonic()
        try:
            rest_s = await loop.tick()
        except Exception as error:  # noqa: BLE001 - a loop outlives whatever its surroundings do
            failures += 1
            events.loop_failed(loop.name, error)
            health.ready(loop.name, ok=False, detail=type(error).__name__)
            back_off_s = min(BACK_OFF_CAP_S, BACK_OFF_S * 2.0**failures)
            await _wait(ended, back_off_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, no secret
            continue
        failures = 0
        events.tick(loop.name, time.monotonic() - began)
        health.ready(loop.name, ok=True)
        if loop.wakes_on and not bus.connected:
            rest_s = min(rest_s, POLL_WITHOUT_BUS_S)
        if rest_s <= 0:
            await asyncio.sleep(0)
        else:
            await _wait(woken, rest_s)


async def _wait(event: asyncio.Event, most_s: float) -> None:
    try:
        async with asyncio.timeout(most_s):
            await event.wait()
    except TimeoutError:
        return


async def _end(tasks: Sequence[asyncio.Task[None]], *, patience_s: float = STOP_S) -> None:
    """Waits for tasks to end by themselves, then cancels what is left; again if need be, for `asyncio.wait_for` of
    Python 3.11 loses a cancel that meets an answer (python/cpython#86296).
    """
    left = set(tasks)
    if left:
        _, left = await asyncio.wait(left, timeout=patience_s)
    for _ in range(CANCELS if left else 0):
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=1.0)
        if not left:
            break
    for task in set(tasks) - left:
        if not task.cancelled() and (error := task.exception()):
            events.loop_failed(task.get_name(), error)
