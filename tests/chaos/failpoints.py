"""Each role dies at each of its commit points, one alone: the table of points, and how each is come to (case S7)."""

import signal
import time
from collections.abc import Iterator, Mapping
from itertools import product
from random import Random

from tests.chaos.fault import Fault, Inject, Layout
from tests.chaos.role_faults import LEASE_S
from tests.chaos.world import World
from tests.e2e.waiting import wait_until

ONE_EACH = Layout(publishers=1, schedulers=1, workers=1)  # so that what is armed has all of its role's work
PILES_UP_S = 0.7
BOTH = ("begin", "committed")
ATOMIC = ("begin", "open", "committed")

POINTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gateway": {"submit": BOTH, "cancel": ATOMIC, "requeue": ATOMIC},
    "publisher": {"publish": BOTH, "finish": BOTH},
    "scheduler": {
        "take": BOTH,
        "dispatch": BOTH,
        "set_floor": BOTH,
        "weigh_signs": ATOMIC,
        "promote": BOTH,
        "report": BOTH,
    },
    "worker": {
        "announce": BOTH,
        "claim": BOTH,
        "renew": BOTH,
        "fetch": ("begin", "done"),
        "put": ("begin", "done"),
        "report": BOTH,
    },
    "courier": {"claim_deliveries": BOTH, "post": ("done",), "note_delivery": BOTH},
}
"""Who reaches what: by role, the places and their moments."""

SHAPES: Mapping[str, int] = {"page": 40, "slow": 25, "busy": 10, "cut": 5, "gone": 15, "down": 5}


def points() -> Iterator[tuple[str, str]]:
    """Every role with every point that it reaches."""
    for role, places in POINTS.items():
        for place, moments in places.items():
            yield from product([role], [f"{place}:{moment}" for moment in moments])


def die_at(role: str, point: str) -> Inject:
    """The role is gone until it has work, comes back with the point armed, and must die there."""

    def inject(world: World, rng: Random) -> None:
        (label,) = world.supervisor.labels(role)
        world.rest(PILES_UP_S)
        world.supervisor.kill(label, again=False)
        if (role, point.partition(":")[0]) == ("scheduler", "report"):  # it reports what a worker lost
            world.supervisor.kill(*world.supervisor.labels("worker"))
            world.rest(LEASE_S)
        world.rest(PILES_UP_S)
        world.supervisor.start(label, SCRAPEJOBS_FAILPOINT=point)
        _see_it_die(world, label, point)

    return inject


def _see_it_die(world: World, label: str, point: str) -> None:
    armed = world.supervisor.role(label)
    said = f"killed at failpoint {point}\n"
    wait_until(lambda: said in armed.log.read_text(), what=f"{label} to come to {point}", at_most_s=30)
    world.note("kill", label=label, point=point)
    if label.startswith("gateway"):  # the child that serves died; its parent would start it again, armed
        world.supervisor.kill(label, again=False)
        return
    give_up_at = time.monotonic() + 10
    while armed.process.poll() is None and time.monotonic() < give_up_at:
        world.rest(0.01)
    assert armed.process.returncode == -signal.SIGKILL, f"{label} ended with {armed.process.returncode} at {point}"


def fault_at(role: str, point: str) -> Fault:
    return Fault(
        f"kill:{role}:{point}",
        f"the {role} dies at {point}",
        die_at(role, point),
        layout=ONE_EACH,
        shapes=SHAPES,
        cancels=0.15,
        requeues=0.15,
    )


FAULTS = tuple(fault_at(role, point) for role, point in points())
