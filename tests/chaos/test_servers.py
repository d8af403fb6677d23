"""A short, seeded part of what is done to the servers under load."""

from pathlib import Path

import pytest

from tests.chaos.fault import Fault
from tests.chaos.nemesis import strike
from tests.chaos.rounds import run_round
from tests.chaos.scorecard import in_words
from tests.chaos.server_faults import THROUGH_PROXIES, wrong
from tests.chaos.world import running_world

pytestmark = pytest.mark.timeout(300)

SEED = 3
SERVERS = Fault(
    "short-servers",
    "Postgres is killed, answers of it are lost, Valkey is flushed, and PUTs are cut in their middle",
    strike(wrong("postgres-killed", "postgres-lost-answers", "valkey-flushed", "s3-cut-in-put")),
    layout=THROUGH_PROXIES,
    seconds=10.0,
)


@pytest.mark.req("P1")
@pytest.mark.req("P2")
@pytest.mark.req("P3")
@pytest.mark.req("P4")
@pytest.mark.req("P5")
@pytest.mark.req("P6")
@pytest.mark.req("NFR-3")
@pytest.mark.case("S7")
def test_killed_servers_and_cut_lines_under_load_lose_and_double_nothing(tmp_path: Path) -> None:
    with running_world(SERVERS.layout, tmp_path) as world:
        score = run_round(world, SERVERS, seed=SEED)
        counts = {name: proxy.counts for name, proxy in world.beside.items()}
    assert score.verdict.is_clean, "\n".join(in_words(score))
    assert counts["postgres"]["lost"] > 0
    assert counts["s3"]["cut in a PUT"] > 0
