"""The real servers behind integration and e2e tests: one set for a test session, a database for each xdist worker."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
from psycopg import sql

from scrapejobs.adapters import embedded

ROOT = Path(__file__).resolve().parent.parent
DIRECTORY = "TEST_SERVERS_DIR"  # how the controller tells the xdist workers where the servers' files are
OWN_NAMES = ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "REDIS_URL", "DATA_DIR", "PORT", "WORKERS")
OWN_PREFIXES = ("SCRAPEJOBS_", "S3_")
TEMPLATE = "template_scrapejobs"
KEPT_TABLES = ("django_migrations", "django_content_type", "auth_permission")
# These servers need not outlive the machine, only a kill of their process, for which no flush is needed.
POSTGRES_OPTIONS = {"fsync": "off", "full_page_writes": "off"}
SEALING_KEY = "a-sealing-key-for-tests-and-nothing-else-0123"
NO_SERVERS = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "S3_ENDPOINT_URL": "http://127.0.0.1:1",
    "S3_ACCESS_KEY_ID": "none",
    "S3_SECRET_ACCESS_KEY": "none-at-all",
}


def without_settings() -> dict[str, str]:
    """The environment without any setting of ours."""
    return {k: v for k, v in os.environ.items() if k not in OWN_NAMES and not k.startswith(OWN_PREFIXES)}


def forget_the_developers_environment() -> None:
    """A test run means the same on every machine: no setting of ours comes from outside."""
    for name in set(os.environ) - set(without_settings()):
        del os.environ[name]


@contextlib.contextmanager
def running_servers(postgres_options: Mapping[str, str] = POSTGRES_OPTIONS) -> Iterator[embedded.Servers]:
    """A set of servers of its own in a fresh directory, stopped and removed at the end."""
    base = Path(tempfile.mkdtemp(prefix="scrapejobs-test-"))
    base.chmod(0o711)  # as root, the database server's other user passes through
    data_dir = base / "data"
    try:
        with embedded.hold(data_dir):
            servers = embedded.start_servers(data_dir, postgres_options=postgres_options)
            try:
                yield servers
            finally:
                servers.stop()
    finally:
        remove(data_dir)
        base.rmdir()


def remove(data_dir: Path) -> None:
    """Remove a data directory, and what the database server keeps outside of it."""
    cluster = data_dir / "postgres"
    if cluster.is_symlink():
        shutil.rmtree(cluster.readlink().parent)
    shutil.rmtree(data_dir)


def use_servers(servers: embedded.Servers) -> None:
    """For this process and its children: these servers. The xdist workers then take their shares with `take_share`."""
    os.environ.update(servers.environment)
    os.environ[DIRECTORY] = str(servers["s3"].directory.parent)


def take_share(worker: str) -> None:
    """For this process: a database, a Valkey database, a bucket and a DATA_DIR that no other worker uses."""
    directory = Path(os.environ[DIRECTORY])
    number = int(worker.removeprefix("gw")) if worker.startswith("gw") else 0
    os.environ["DATABASE_URL"] = _named(os.environ["DATABASE_URL"], f"scrapejobs_{worker}")
    os.environ["REDIS_URL"] = _named(os.environ["REDIS_URL"], str(number % 16))
    os.environ["S3_BUCKET"] = f"scrapejobs-{worker}"
    os.environ["DATA_DIR"] = str(directory / f"data-{worker}")
    (directory / "s3" / os.environ["S3_BUCKET"]).mkdir(exist_ok=True)


def create_database() -> str:
    """Make this worker's database as a copy of the migrated template, which the first one makes. Returns its URL."""
    url = os.environ["DATABASE_URL"]
    admin = _named(url, "postgres")
    with (Path(os.environ[DIRECTORY]) / "template.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with psycopg.connect(admin, autocommit=True) as connection:
            if not connection.execute("select 1 from pg_database where datname = %s", [TEMPLATE]).fetchone():
                unfinished = f"{TEMPLATE}_unfinished"
                connection.execute(f'create database "{unfinished}"')
                migrate(_named(url, unfinished))
                connection.execute(f'alter database "{unfinished}" rename to "{TEMPLATE}"')
            name = sql.Identifier(url.rpartition("/")[2])
            connection.execute(sql.SQL("create database {} template {}").format(name, sql.Identifier(TEMPLATE)))
    return url


def wipe(connection: psycopg.Connection) -> None:
    """Bring every table back to what the migrations put into it; faster than TRUNCATE for a few rows."""
    tables = [
        row[0]
        for row in connection.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') "
            "and not relispartition and relname <> all(%s)",
            [list(KEPT_TABLES)],
        )
    ]
    with connection.transaction():
        connection.execute("set local session_replication_role = replica; set local lock_timeout = '10s'")
        for table in tables:
            connection.execute(sql.SQL("delete from {}").format(sql.Identifier(table)))
        for (table,) in connection.execute("select relname from pg_class where relnamespace = 'seed'::regnamespace"):
            both = sql.Identifier(table), sql.Identifier("seed", table)
            connection.execute(sql.SQL("insert into {} table {}").format(*both))


def migrate(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity=0"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the migrations failed:\n{done.stdout}{done.stderr}")
    with psycopg.connect(url) as connection:
        _keep_seeds(connection)


def _keep_seeds(connection: psycopg.Connection) -> None:
    """Copy the rows that migrations put in, so that `wipe` can put them back."""
    connection.execute("create schema seed")
    tables = connection.execute(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') "
        "and not relispartition and relname <> all(%s)",
        [list(KEPT_TABLES)],
    ).fetchall()
    for (table,) in tables:
        here, there = sql.Identifier(table), sql.Identifier("seed", table)
        if connection.execute(sql.SQL("select 1 from {} limit 1").format(here)).fetchone():
            connection.execute(sql.SQL("create table {} as table {}").format(there, here))


def _named(url: str, last: str) -> str:
    """The same server, another database."""
    return f"{url.rpartition('/')[0]}/{last}"


def remembered(data_dir: Path) -> dict[str, dict[str, str]]:
    """Ports and secrets by server, as a data directory keeps them."""
    return dict(json.loads((data_dir / "servers.json").read_text()))
