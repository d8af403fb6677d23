"""A short, seeded part of what is done to the servers under load."""

import pytest

from tests.chaos.fault import Fault
from tests.chaos.nemesis import strike
from tests.chaos.rounds import run_round
from tests.chaos.scorecard import in_words
from tests.chaos.server_faults import wrong
from tests.chaos.world import World

pytestmark = pytest.mark.timeout(300)

SEED = 3
SERVERS = Fault(
    "short-servers",
    "Postgres is killed, answers of it are lost, Valkey is flushed, and PUTs are cut in their middle",
    strike(wrong("postgres-killed", "postgres-lost-answers", "valkey-flushed", "s3-cut-in-put")),
    seconds=10.0,
)


@pytest.mark.req("P1")
@pytest.mark.req("P2")
@pytest.mark.req("P3")
@pytest.mark.req("P4")
@pytest.mark.req("P5")
@pytest.mark.req("P6")
@pytest.mark.req("NFR-3")
@pytest.mark.req("NFR-4")
@pytest.mark.req("NFR-7")
@pytest.mark.case("S7")
def test_killed_servers_and_cut_lines_under_load_lose_and_double_nothing(world: World) -> None:
    score = run_round(world, SERVERS, seed=SEED)
    assert score.verdict.is_clean, "\n".join(in_words(score))
    assert world.proxies["postgres"].counts["lost"] > 0
    assert world.proxies["s3"].counts["cut in a PUT"] > 0
