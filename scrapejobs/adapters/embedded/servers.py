"""The servers of one data directory: started together, ports and secrets remembered."""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapejobs.adapters.embedded.account import Account, unprivileged
from scrapejobs.adapters.embedded.errors import AlreadyRunningError, EmbeddedError
from scrapejobs.adapters.embedded.ports import free_port
from scrapejobs.adapters.embedded.postgres import is_outside, postgres
from scrapejobs.adapters.embedded.s3 import s3
from scrapejobs.adapters.embedded.server import Server
from scrapejobs.adapters.embedded.strays import stop_strays
from scrapejobs.adapters.embedded.valkey import valkey

NAMES = ("postgres", "valkey", "s3")
MEMORY = "servers.json"
ACCESS_KEY_ID = "scrapejobs"


@dataclass(frozen=True, slots=True)
class Servers:
    """Running servers by name, and the environment by which a process of ours reaches them."""

    by_name: Mapping[str, Server]
    environment: Mapping[str, str]
    note: str = ""

    def __getitem__(self, name: str) -> Server:
        return self.by_name[name]

    def stop(self) -> None:
        """Stop all, in order, in any state."""
        for server in self.by_name.values():
            server.stop()


@contextlib.contextmanager
def hold(data_dir: Path) -> Iterator[None]:
    """Be the only process that runs servers in `data_dir`, until the block or the process ends.

    Makes the directory. Raises `AlreadyRunningError` if another holds it, `EmbeddedError` if it is not ours.
    """
    mode = 0o711 if os.geteuid() == 0 else 0o700  # root's database server runs as another user
    try:
        data_dir.mkdir(mode=mode, parents=True, exist_ok=True)
        lock = (data_dir / "lock").open("a")
    except OSError as error:
        raise EmbeddedError(f"the data directory cannot be used: {error}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunningError(f"a stack runs already in {data_dir}") from error
        yield


def start_servers(
    data_dir: Path, *, want: Collection[str] = NAMES, postgres_options: Mapping[str, str] | None = None
) -> Servers:
    """Start the wanted servers; to be called inside `hold(data_dir)`.

    Raises `EmbeddedError`, and then none is left running. Data, ports and secrets
    are those of the last start in this directory, if the ports are free.
    """
    directory = data_dir.resolve()
    for name in NAMES:
        stop_strays(directory / name)  # of a killed parent; first of all, because they hold the ports
    account = unprivileged()
    memory = _recall(directory / MEMORY)
    started: dict[str, Server] = {}
    environment: dict[str, str] = {}
    try:
        for name in (name for name in NAMES if name in want):
            server, reached_by = _make(name, directory, memory, account=account, options=postgres_options or {})
            _remember(directory / MEMORY, memory)
            started[name] = server
            server.start()
            environment |= reached_by
    except BaseException as error:
        for server in started.values():
            server.stop()
        if isinstance(error, OSError):
            raise EmbeddedError(str(error)) from error
        raise
    note = _note(directory, account) if "postgres" in started else ""
    return Servers(started, environment, note)


def _make(
    name: str, data_dir: Path, memory: dict[str, Any], *, account: Account | None, options: Mapping[str, str]
) -> tuple[Server, dict[str, str]]:
    """One server, and the environment variables by which it is reached."""
    known = memory.setdefault(name, {"secret": secrets.token_hex(16)})
    port = known["port"] = free_port(known.get("port"))
    secret = known["secret"]
    if name == "postgres":
        server = postgres(data_dir, port=port, password=secret, account=account, options=options)
        return server, {"DATABASE_URL": server.url}
    if name == "valkey":
        server = valkey(data_dir, port=port, password=secret)
        return server, {"REDIS_URL": server.url}
    server = s3(data_dir, port=port, access_key_id=ACCESS_KEY_ID, secret_access_key=secret)
    keys = {"S3_ACCESS_KEY_ID": ACCESS_KEY_ID, "S3_SECRET_ACCESS_KEY": secret}
    return server, {"S3_ENDPOINT_URL": server.url, **keys}


def _note(data_dir: Path, account: Account | None) -> str:
    if account is None or not is_outside(data_dir):
        return ""
    where = (data_dir / "postgres").readlink().parent
    return f"PostgreSQL runs as {account.name}, who cannot reach {data_dir}: its files are in {where}"


def _recall(file: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(file.read_text()))
    except FileNotFoundError:
        return {}


def _remember(file: Path, memory: Mapping[str, Any]) -> None:
    """Write as one whole: a kill leaves the old text or the new one."""
    new = file.with_suffix(".new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_text(json.dumps(memory, indent=1))
    new.replace(file)
