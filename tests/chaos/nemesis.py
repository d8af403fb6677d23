"""Draws from a seed when something goes wrong and for how long, says so, and does it.

The same seed, time and blows give the same schedule: `python -m tests.chaos --fault NAME --seed N` replays it.
"""

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from tests.chaos.fault import Inject

if TYPE_CHECKING:
    from tests.chaos.world import World

Blow = Callable[["World", Random], AbstractContextManager[None]]
"""Something is wrong from the block's begin to its end."""

PAUSE_S: Final = (0.3, 1.5)


@dataclass(frozen=True, slots=True, order=True)
class Strike:
    """From `at_s` seconds after the begin, for `for_s` seconds, something is wrong."""

    at_s: float
    fault: str
    for_s: float

    def __str__(self) -> str:
        return f"{self.at_s:7.2f} s  {self.fault} for {self.for_s:.2f} s"


@dataclass(frozen=True, slots=True)
class Wrong:
    """A blow, and the least and most seconds that it lasts, more than 0.01. Two blows `on` one thing do not overlap."""

    blow: Blow
    on: str
    lasts_s: tuple[float, float]


def schedule(rng: Random, wrongs: Mapping[str, Wrong], *, seconds: float) -> list[Strike]:
    """What is struck when, in the order of time; each thing by itself, with pauses in between."""
    strikes: list[Strike] = []
    for thing in sorted({wrong.on for wrong in wrongs.values()}):
        names = sorted(name for name, wrong in wrongs.items() if wrong.on == thing)
        at_s = rng.uniform(*PAUSE_S)
        while at_s < seconds:
            name = rng.choice(names)
            for_s = rng.uniform(*wrongs[name].lasts_s)
            strikes.append(Strike(round(at_s, 2), name, round(for_s, 2)))
            at_s += for_s + rng.uniform(*PAUSE_S)
    return sorted(strikes)


def strike(wrongs: Mapping[str, Wrong]) -> Inject:
    """A schedule of these, drawn and played."""

    def inject(world: "World", rng: Random) -> None:
        strikes = schedule(rng, wrongs, seconds=world.seconds)
        for one in strikes:
            sys.stdout.write(f"{one}\n")
            world.note("planned", strike=str(one))
        play(world, strikes, wrongs, rng)

    return inject


def play(world: "World", strikes: list[Strike], wrongs: Mapping[str, Wrong], rng: Random) -> None:
    """Begins and ends each strike in its time. When nothing is wrong any more, that counts as healed."""
    began = time.monotonic()
    under_way: dict[Strike, ExitStack] = {}
    moments = [(one.at_s, True, one) for one in strikes] + [(one.at_s + one.for_s, False, one) for one in strikes]
    with ExitStack() as whatever_comes:
        for at_s, begins, one in sorted(moments):
            world.rest(max(0.0, began + at_s - time.monotonic()))
            if begins:
                under_way[one] = stack = whatever_comes.enter_context(ExitStack())
                world.note("wrong", fault=one.fault, for_s=one.for_s)
                stack.enter_context(wrongs[one.fault].blow(world, rng))
            else:
                under_way.pop(one).close()
                if not under_way:
                    world.note("heal")
