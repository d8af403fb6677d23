"""A short, seeded part of the chaos suite: one world, some of its faults one after the other, judged as all are."""

import pytest

from tests.chaos.fault import Fault
from tests.chaos.role_faults import (
    in_turn,
    rolling_restart,
    stop_leader_past_its_lease,
    stop_worker_past_its_lease,
    storm,
)
from tests.chaos.rounds import run_round
from tests.chaos.scorecard import in_words
from tests.chaos.world import World

pytestmark = pytest.mark.timeout(300)

SEED = 7
KILLS = Fault(
    "short-kills",
    "any process is killed, then a worker and the dispatching scheduler are stopped past their leases",
    in_turn((storm, 10.0), (stop_worker_past_its_lease, 4.0), (stop_leader_past_its_lease, 3.0)),
    shapes={"slow": 60, "page": 20, "busy": 4, "cut": 4, "nul": 4, "gone": 6, "down": 2},
)
RESTARTS = Fault(
    "short-restarts",
    "each process in turn gets SIGTERM, and jobs are cancelled and requeued from all sides",
    rolling_restart,
    seconds=10.0,
    shapes={"slow": 70, "page": 15, "gone": 15},
    cancels=0.2,
    requeues=0.2,
    loses_no_attempt=True,
)


def show(world: World, fault: Fault) -> None:
    """One round; what broke a promise is the failure's text."""
    score = run_round(world, fault, seed=SEED)
    assert score.verdict.is_clean, "\n".join(in_words(score))


@pytest.mark.req("P1")
@pytest.mark.req("P2")
@pytest.mark.req("P3")
@pytest.mark.req("P4")
@pytest.mark.req("P5")
@pytest.mark.req("P6")
@pytest.mark.req("P9")
@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-4")
@pytest.mark.req("NFR-7")
@pytest.mark.case("S7")
@pytest.mark.case("S9")
@pytest.mark.case("S10")
@pytest.mark.case("S16")
def test_kills_and_stops_under_load_lose_and_double_nothing(world: World) -> None:
    show(world, KILLS)
    assert sum(world.supervisor.deaths.values()) > 3


@pytest.mark.req("P7")
@pytest.mark.req("P8")
@pytest.mark.case("S12")
def test_restarts_under_load_cost_no_attempt_and_cancels_and_requeues_agree_with_them(world: World) -> None:
    show(world, RESTARTS)
