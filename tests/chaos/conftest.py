from collections.abc import Iterator

import pytest

from tests.chaos.server_faults import THROUGH_PROXIES
from tests.chaos.world import World, running_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One world for the short part: its rounds follow one another, each on what the one before has healed."""
    with running_world(THROUGH_PROXIES, tmp_path_factory.mktemp("chaos")) as world:
        yield world
