"""What a fault is: a name, a layout to hurt, and a function that hurts it while load runs."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tests.chaos.world import World


class Inject(Protocol):
    """Hurts the world while load runs, for as long as `world.turns()` goes on or less. All that is random comes from
    `rng`. What it leaves broken, `world.heal()` mends afterwards. Runs in the main thread, as starting a server must.
    """

    def __call__(self, world: "World", rng: Random) -> None: ...


Between = Callable[["World"], AbstractContextManager[Mapping[str, str]]]
"""Puts something between the roles and the servers, and gives the settings by which the roles find it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What runs: how many of each role, and with which settings. `by_label` are settings of one member alone,
    `host_slots` how many exchanges the target's hosts may have open, `host_rate` and `host_burst` how many requests a
    second they bear, and at once.

    `durable`: Postgres flushes, for faults that a machine's crash could be.
    """

    gateways: int = 1
    publishers: int = 2
    schedulers: int = 2
    couriers: int = 1
    workers: int = 2
    host_slots: int = 3
    host_rate: float = 1000.0
    host_burst: float = 1000.0
    settings: Mapping[str, str] = field(default_factory=dict)
    by_label: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    durable: bool = False
    between: Between | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the catalogue. `about` ends the sentence "while load runs, ...".

    `seconds`: how long it is injected unless told otherwise. `shapes`: kinds of pages asked for, by weight; None is the
    usual mix. `cancels` and `requeues`: their shares of what clients do. `pauses_at_most_s`: while load runs, requests
    reach the target without a longer pause. `recovers_within_s`: what a worker
    that is killed leaves starts elsewhere within so long (P9). `loses_no_attempt`: each worker hands back
    what it holds (P8). `is_quiet`: nothing is done to the service, so that the target sees as many requests as
    attempts are recorded (P4).
    """

    name: str
    about: str
    inject: Inject
    layout: Layout = Layout()
    seconds: float = 10.0
    shapes: Mapping[str, int] | None = None
    cancels: float = 0.06
    requeues: float = 0.04
    pauses_at_most_s: float | None = None
    recovers_within_s: float | None = None
    loses_no_attempt: bool = False
    is_quiet: bool = False
