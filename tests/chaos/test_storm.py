"""A short, seeded part of the chaos suite: one world, a few of its faults, nothing lost and nothing doubled."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.catalogue import CATALOGUE
from tests.chaos.rounds import Score, run_round
from tests.chaos.scorecard import in_words
from tests.chaos.world import World, running_world

SEED = 7


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory: Path = tmp_path_factory.mktemp("chaos")
    with running_world(CATALOGUE["storm"].layout, directory) as world:
        yield world


def judged(world: World, fault: str, *, seconds: float) -> Score:
    """One round; what broke a promise is the failure's text."""
    score = run_round(world, CATALOGUE[fault], seed=SEED, seconds=seconds)
    assert score.verdict.is_clean, "\n".join(in_words(score))
    assert score.verdict.jobs
    return score


@pytest.mark.req("P4")
def test_without_faults_the_target_sees_as_many_requests_as_attempts_are_recorded(world: World) -> None:
    judged(world, "nothing", seconds=3)


@pytest.mark.req("P1")
@pytest.mark.req("P2")
@pytest.mark.req("P3")
@pytest.mark.req("P5")
@pytest.mark.req("P6")
@pytest.mark.case("S7")
@pytest.mark.case("S16")
def test_a_storm_of_kills_over_all_roles_loses_and_doubles_nothing(world: World) -> None:
    judged(world, "storm", seconds=12)
    assert sum(world.supervisor.deaths.values()) > 3


@pytest.mark.req("P2")
@pytest.mark.req("P9")
@pytest.mark.case("S9")
@pytest.mark.case("S10")
def test_a_worker_that_wakes_up_after_its_lease_changes_nothing(world: World) -> None:
    judged(world, "worker-stopped", seconds=5)


@pytest.mark.req("NFR-6")
def test_a_scheduler_that_wakes_up_after_its_lease_dispatches_nothing(world: World) -> None:
    judged(world, "leader-stopped", seconds=4)


@pytest.mark.req("P8")
def test_restarts_by_sigterm_under_load_cost_no_job_an_attempt(world: World) -> None:
    judged(world, "rolling-restart", seconds=8)


@pytest.mark.req("P2")
@pytest.mark.req("P7")
@pytest.mark.case("S12")
def test_cancel_requeue_and_finish_at_once_agree(world: World) -> None:
    judged(world, "races", seconds=4)
