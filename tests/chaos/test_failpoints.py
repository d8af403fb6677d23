"""A representative few of the deaths at failpoints: one world, one role after the other, judged as all rounds are."""

from collections.abc import Iterator

import pytest

from tests.chaos.failpoints import ONE_EACH, fault_at
from tests.chaos.rounds import run_round
from tests.chaos.scorecard import in_words
from tests.chaos.world import World, running_world

pytestmark = pytest.mark.timeout(300)

SEED = 11


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(ONE_EACH, tmp_path_factory.mktemp("failpoints")) as world:
        yield world


@pytest.mark.req("P1")
@pytest.mark.req("P2")
@pytest.mark.req("P3")
@pytest.mark.req("P4")
@pytest.mark.req("P5")
@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-4")
@pytest.mark.case("S7")
@pytest.mark.parametrize(
    ("role", "point"),
    [
        ("gateway", "submit:committed"),
        ("publisher", "finish:committed"),
        ("scheduler", "dispatch:committed"),
        ("worker", "put:done"),
        ("courier", "post:done"),
    ],
)
def test_a_role_that_dies_at_a_commit_point_loses_and_doubles_nothing(world: World, role: str, point: str) -> None:
    score = run_round(world, fault_at(role, point), seed=SEED)
    assert score.verdict.is_clean, "\n".join(in_words(score))
