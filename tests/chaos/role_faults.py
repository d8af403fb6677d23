"""What is done to the processes of the service, and to jobs from all sides at once."""

from random import Random

from tests.chaos.fault import Fault, Inject, Layout
from tests.chaos.world import SHORT, World

LEASE_S = float(SHORT["SCRAPEJOBS_LEASE_S"])
DISPATCH_LEASE_S = float(SHORT["SCRAPEJOBS_DISPATCH_LEASE_S"])


def nothing(world: World, rng: Random) -> None:
    for _ in world.turns(1.0):
        pass


def kill(role: str) -> Inject:
    """kill -9 of any member of the role, a second or two after it was ready."""

    def inject(world: World, rng: Random) -> None:
        for _ in world.turns(0.0):
            label = rng.choice(world.supervisor.labels(role))
            world.supervisor.wait_ready(label)
            world.rest(rng.uniform(0.5, 2.0))
            world.supervisor.kill(label)

    return inject


def storm(world: World, rng: Random) -> None:
    """kill -9 of any member, once a second or so, whether it is ready or just starting."""
    for _ in world.turns(0.6):
        world.rest(rng.uniform(0.0, 0.8))
        world.supervisor.kill(rng.choice(world.supervisor.labels()))


def rolling_restart(world: World, rng: Random) -> None:
    """SIGTERM to one member after the other, each ready again before the next; each leaves with 0."""
    labels = world.supervisor.labels()
    rng.shuffle(labels)
    labels.sort(key=lambda label: not label.startswith("worker"))  # they have the most to hand back
    for turn in world.turns(0.1):
        label = labels[turn % len(labels)]
        if label.startswith("worker"):
            world.wait_busy(label)
        status = world.supervisor.stop(label)
        assert status == 0, f"{label} left with {status} after SIGTERM"
        world.supervisor.wait_ready(label)


def stop_worker_past_its_lease(world: World, rng: Random) -> None:
    """Case S9: SIGSTOP with jobs in hand, until others have its jobs; then SIGCONT."""
    for _ in world.turns(0.5):
        label = rng.choice(world.supervisor.labels("worker"))
        world.wait_busy(label)
        world.supervisor.freeze(label)
        world.rest(LEASE_S + rng.uniform(1.5, 3.0))
        world.supervisor.thaw(label)
        world.rest(rng.uniform(0.5, 1.5))


def kill_leader(world: World, rng: Random) -> None:
    """The dispatching scheduler is killed, again and again; the other one takes over."""
    for _ in world.turns(DISPATCH_LEASE_S + 1.0):
        world.rest(rng.uniform(0.0, 1.0))
        world.supervisor.kill(world.leader())


def kill_workers_and_leader(world: World, rng: Random) -> None:
    """kill -9 of a worker about every two seconds, and of the dispatching scheduler in between."""
    for turn in world.turns(0.5):
        label = world.leader() if turn % 4 == 3 else rng.choice(world.supervisor.labels("worker"))
        world.supervisor.wait_ready(label)
        world.rest(rng.uniform(0.5, 2.0))
        world.supervisor.kill(label)


def retire_leader(world: World, rng: Random) -> None:
    """SIGTERM to the dispatching scheduler, again and again, each time that both are ready."""
    for _ in world.turns(0.5):
        world.rest(rng.uniform(1.0, 2.0))
        label = world.leader()
        status = world.supervisor.stop(label)
        assert status == 0, f"{label} left with {status} after SIGTERM"
        world.supervisor.wait_ready(label)


def stop_leader_past_its_lease(world: World, rng: Random) -> None:
    """The dispatching scheduler is stopped until the other one leads, and wakes up believing that it does."""
    for _ in world.turns(1.0):
        label = world.leader()
        world.supervisor.freeze(label)
        world.rest(DISPATCH_LEASE_S + rng.uniform(0.5, 2.0))
        world.supervisor.thaw(label)


def trade_publishers(world: World, rng: Random) -> None:
    """Of two publishers one is killed or stopped for a while, then the other."""
    labels = world.supervisor.labels("publisher")
    for turn in world.turns(0.5):
        label = labels[turn % len(labels)]
        if rng.random() < 0.5:
            world.supervisor.kill(label)
            continue
        world.supervisor.freeze(label)
        world.rest(rng.uniform(0.2, 1.5))
        world.supervisor.thaw(label)


def in_turn(*parts: tuple[Inject, float]) -> Inject:
    """One fault after the other, each for its seconds, under one load."""

    def inject(world: World, rng: Random) -> None:
        for part, world.seconds in parts:
            part(world, rng)

    return inject


DEFAULTS = {
    "SCRAPEJOBS_LEASE_S": "20",
    "SCRAPEJOBS_SWEEP_S": "5",
    "SCRAPEJOBS_DISPATCH_LEASE_S": "5",
    "SCRAPEJOBS_POLL_S": "5",
    "SCRAPEJOBS_HEARTBEAT_S": "5",
}
SLOW = {"slow": 75, "page": 20, "cut": 5}  # so that a worker has several in hand
STEADY = {"page": 70, "slow": 30}
CROWDED = Layout(workers=8, host_slots=2, host_rate=2.0, host_burst=3.0)
"""More jobs than the hosts bear, so that their limits are all that holds starts back."""
AT_ONCE = Layout(
    workers=3,
    host_rate=10.0,
    host_burst=10.0,
    settings={"SCRAPEJOBS_DISPATCH_LEASE_S": DEFAULTS["SCRAPEJOBS_DISPATCH_LEASE_S"]},
)
"""Fewer jobs than the hosts bear: each starts at once while somebody dispatches."""
RACES = {"page": 50, "slow": 20, "gone": 30}

FAULTS = (
    Fault("nothing", "nothing is done to the service", nothing, seconds=5.0, is_quiet=True),
    *(
        Fault(f"kill-{role}", f"a {role} is killed whenever it is back", kill(role))
        for role in ("gateway", "publisher", "scheduler", "courier")
    ),
    Fault("kill-worker", "a worker is killed whenever it is back", kill("worker"), shapes=SLOW),
    Fault(
        "worker-lost",
        "with the default lease of 20 s and sweep of 5 s, a worker is killed whenever it is back",
        kill("worker"),
        layout=Layout(workers=3, host_slots=20, settings=DEFAULTS),
        seconds=60.0,
        shapes=SLOW,
        recovers_within_s=30.0,
    ),
    Fault("storm", "any process is killed, about once a second", storm, seconds=30.0),
    Fault(
        "rolling-restart",
        "each process in turn gets SIGTERM and leaves with 0",
        rolling_restart,
        seconds=20.0,
        shapes=SLOW,
        loses_no_attempt=True,
    ),
    Fault(
        "worker-stopped",
        "a worker is stopped past its lease and continued",
        stop_worker_past_its_lease,
        seconds=15.0,
        shapes=SLOW,
    ),
    Fault("leader-killed", "the dispatching one of two schedulers is killed", kill_leader),
    Fault(
        "limits-kept",
        "one of eight workers is killed every two seconds, and the dispatching scheduler in between; hosts are crowded",
        kill_workers_and_leader,
        layout=CROWDED,
        seconds=30.0,
        shapes=STEADY,
    ),
    Fault(
        "leader-lost",
        "with the default lease of 5 s, the dispatching scheduler is killed",
        kill_leader,
        layout=AT_ONCE,
        seconds=40.0,
        shapes={"page": 1},
        pauses_at_most_s=10.0,
    ),
    Fault(
        "leader-retired",
        "the dispatching scheduler gets SIGTERM",
        retire_leader,
        layout=AT_ONCE,
        seconds=20.0,
        shapes={"page": 1},
    ),
    Fault(
        "leader-stopped",
        "the dispatching scheduler is stopped past its lease and continued",
        stop_leader_past_its_lease,
    ),
    Fault("two-publishers", "of two publishers one at a time is killed or stopped", trade_publishers),
    Fault(
        "races", "jobs are cancelled, requeued and finished at once", nothing, shapes=RACES, cancels=0.3, requeues=0.3
    ),
    Fault(
        "requeue-storm",
        "what has failed is requeued again and again, by several clients at once",
        nothing,
        shapes={"gone": 60, "down": 10, "page": 30},
        cancels=0.02,
        requeues=0.7,
    ),
)
