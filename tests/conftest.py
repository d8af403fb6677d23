"""What every test stands on: settings of its own, real servers unless only unit tests run, and a quiet network."""

import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import django
import psycopg
import pytest
from django.test import TransactionTestCase
from hypothesis import settings
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from pytest_django.plugin import DjangoDbBlocker

from tests import servers

# --hypothesis-profile
settings.register_profile("fuzz", max_examples=20_000, deadline=None)  # --hypothesis-profile
settings.register_profile("chaos", max_examples=1500, stateful_step_count=60, deadline=None)
settings.register_profile("long", max_examples=20_000, deadline=None)

UNIT = Path(__file__).parent / "unit"
CHAOS = Path(__file__).parent / "chaos"
FORBIDDEN_IN_UNIT_TESTS = frozenset({"socket.connect", "socket.bind", "socket.getaddrinfo"})


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start the servers, once for all xdist workers, and set the environment before Django's settings load."""
    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        servers.forget_the_developers_environment()
        os.environ["SCRAPEJOBS_SECRET_KEY"] = "a-key-for-tests-and-nothing-else-0123456789"
        os.environ["SCRAPEJOBS_SEALING_KEYS"] = servers.SEALING_KEY
        os.environ["SCRAPEJOBS_KEY_CACHE_S"] = "0"  # tests change rows behind everybody's back
        os.environ["SCRAPEJOBS_STRANGER_BURST"] = "1000"  # what a test of limits is not about
        os.environ["SCRAPEJOBS_JOB_CACHE_S"] = "0"  # tests change rows behind the cache's back; its own make theirs
        os.environ["DATA_DIR"] = os.devnull  # no stack.env of the developer's
        if _needs_servers(config):
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what runs is stopped
            running = servers.running_servers()
            servers.use_servers(running.__enter__())
            config.add_cleanup(lambda: running.__exit__(None, None, None))
        else:
            os.environ.update(servers.NO_SERVERS)
    if _only_distributes(config):
        return  # no settings here: the workers would inherit their name and load them before they have their share
    if servers.DIRECTORY in os.environ:
        servers.take_share(os.environ.get("PYTEST_XDIST_WORKER", "main"))
    os.environ["DJANGO_SETTINGS_MODULE"] = "scrapejobs.settings"
    django.setup()


def _needs_servers(config: pytest.Config) -> bool:
    """Whether anything beside tests/unit was asked for, and beside tests/chaos, which runs servers of its own."""
    asked = [Path(config.invocation_params.dir, argument.partition("::")[0]) for argument in config.args]
    return not all(path.is_relative_to(UNIT) or path.is_relative_to(CHAOS) for path in map(Path.resolve, asked))


def _only_distributes(config: pytest.Config) -> bool:
    """Whether this process hands its tests to xdist workers."""
    return not hasattr(config, "workerinput") and bool(config.getoption("numprocesses", None))


class _Forbidden:
    """An audit hook (PEP 578), because one cannot be taken off again: it looks at `what` each time."""

    what: frozenset[str] = frozenset()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in self.what:
            raise RuntimeError(f"{event} {arguments[1:]} in a unit test: these tests use no network")


_forbidden = _Forbidden()
sys.addaudithook(_forbidden)


@pytest.fixture(autouse=True)
def _no_network_no_sleep_in_unit_tests(request: pytest.FixtureRequest) -> Iterator[None]:
    """Below tests/unit, connecting, listening, looking up a name and sleeping are errors."""
    if not request.path.is_relative_to(UNIT):
        yield
        return
    _forbidden.what = FORBIDDEN_IN_UNIT_TESTS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", _refuse_to_sleep)
        yield
    _forbidden.what = frozenset()


def _refuse_to_sleep(seconds: float) -> None:
    raise RuntimeError(f"time.sleep({seconds}) in a unit test: these tests do not wait")


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Instead of pytest-django's: this worker's database, a copy of a migrated one, under the name in the settings."""
    if servers.DIRECTORY not in os.environ:
        raise pytest.UsageError("tests/unit has no database: move this test to tests/integration")
    servers.create_database()
    TransactionTestCase._fixture_teardown = lambda _: _wipe()
    yield
    from django.db import connections

    with django_db_blocker.unblock():
        connections.close_all()


def _wipe() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        servers.wipe(connection)


@pytest.fixture
def database_url(django_db_setup: None) -> str:
    """The URL of this worker's migrated database."""
    return os.environ["DATABASE_URL"]


@pytest.fixture
def redis_url() -> str:
    """The URL of this worker's Valkey database. Publish and subscribe are not divided by database."""
    return os.environ["REDIS_URL"]


@pytest.fixture
def object_store_url() -> str:
    """The URL of the S3 server. This worker's bucket, which is there, and the keys are in the settings."""
    return os.environ["S3_ENDPOINT_URL"]


@pytest.fixture
def committed(database_url: str, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Django and everyone else commit to the real database, which is wiped afterwards."""
    from django.db import connection

    with django_db_blocker.unblock():
        yield
        connection.close()
    _wipe()


@pytest.fixture
async def async_conn(committed: None, database_url: str) -> AsyncIterator[AsyncConnection[dict[str, Any]]]:
    """An autocommit connection that gives rows as dicts; what it commits is wiped after the test."""
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        yield connection
