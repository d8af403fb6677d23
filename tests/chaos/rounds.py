"""One round: load runs while a fault is injected; then heal, drain, gather and judge."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.chaos.checker import Verdict, check
from tests.chaos.client import Load
from tests.chaos.fault import Fault, Layout
from tests.chaos.gather import gather
from tests.chaos.world import World, running_world

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Score:
    """One row of the scorecard. `n_removed`: orphans that the service removed itself, before they were counted."""

    fault: Fault
    seed: int
    verdict: Verdict
    n_removed: int
    logs: Path


def run_round(world: World, fault: Fault, *, seed: int, seconds: float | None = None) -> Score:
    """Injects one fault into a running world and judges what came of it."""
    since, n_crashes, found = time.time(), len(world.supervisor.crashes), []
    world.seconds = seconds or fault.seconds
    load = Load(
        world,
        name=f"r{next(_numbers)}",
        seed=f"{fault.name}-{seed}",
        shapes=fault.shapes,
        cancels=fault.cancels,
        requeues=fault.requeues,
    )
    world.note("round", fault=fault.name, seed=seed)
    load.start()
    try:
        fault.inject(world, Random(f"{fault.name}-{seed}"))
    except AssertionError as error:
        found.append(str(error))
    finally:
        under_load = since, time.time()
        load.stop()
    world.heal()
    world.drain()
    n_orphans = world.remove_orphans()
    crashes = (*world.supervisor.crashes[n_crashes:], *found)
    history = gather(world, load, fault, under_load=under_load, crashes=crashes)
    return Score(fault, seed, check(history), n_orphans, world.directory)


def run_all(faults: list[Fault], *, seed: int, seconds: float | None, directory: Path) -> Iterator[Score]:
    """Every fault, in one world for all those of one layout; a world's logs are in a folder of `directory`."""
    for number, layout in enumerate(_layouts(faults)):
        logs = directory / f"world-{number}"
        logs.mkdir()
        with running_world(layout, logs) as world:
            for fault in faults:
                if fault.layout == layout:
                    yield run_round(world, fault, seed=seed, seconds=seconds)


def _layouts(faults: list[Fault]) -> list[Layout]:
    found: list[Layout] = []
    for fault in faults:
        if fault.layout not in found:
            found.append(fault.layout)
    return found
