from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from scrapejobs.adapters.embedded import Servers
from tests import servers as shared
from tests.e2e.service import Service
from tests.e2e.target import Target


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Servers of these tests alone: some of them are killed."""
    with shared.running_servers() as running:
        (running["s3"].directory / "scrapejobs").mkdir()
        yield running


@pytest.fixture
def service(servers: Servers, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Service]:
    """An empty, migrated service; `settings` by a marker-free indirect parameter. Its processes end with the test."""
    service = Service(servers, tmp_path, **getattr(request, "param", {}))
    service.manage("migrate", "--verbosity=0")
    yield service
    service.close()
    with psycopg.connect(servers.environment["DATABASE_URL"], autocommit=True) as conn:
        conn.execute("DROP SCHEMA public CASCADE")
        conn.execute("CREATE SCHEMA public")


@pytest.fixture
def target() -> Iterator[Target]:
    target = Target(addresses=20)
    yield target
    target.close()
