from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from scrapejobs.adapters.embedded import Servers
from tests import servers as shared
from tests.e2e.service import Service
from tests.e2e.standing import Standing, standing_service
from tests.e2e.target import Target


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Servers of these tests alone: some of them are killed."""
    with shared.running_servers() as running:
        (running["s3"].directory / "scrapejobs").mkdir()
        shared.migrate(running.environment["DATABASE_URL"])
        yield running


@pytest.fixture
def service(servers: Servers, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Service]:
    """A service without a job, its settings by indirect parameter. Its processes end with the test."""
    service = Service(servers, tmp_path, **getattr(request, "param", {}))
    yield service
    service.close()
    with psycopg.connect(servers.environment["DATABASE_URL"], autocommit=True) as conn:
        shared.wipe(conn)


@pytest.fixture(scope="module")
def standing(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    """A service for all tests of a module, with a target. Its tests keep to jobs of their own."""
    with standing_service(servers, tmp_path_factory.mktemp("standing")) as standing:
        yield standing
    with psycopg.connect(servers.environment["DATABASE_URL"], autocommit=True) as conn:
        shared.wipe(conn)


@pytest.fixture
def target() -> Iterator[Target]:
    target = Target(addresses=20)
    yield target
    target.close()
