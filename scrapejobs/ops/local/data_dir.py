"""What a local stack keeps in its `DATA_DIR`, for its owner's eyes only: the settings that reach it and its keys."""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

STACK_ENV = "stack.env"
ACCESS = "access.json"


@dataclass(frozen=True, slots=True)
class Access:
    """What opens this stack: kept from run to run, so that a key in somebody's script stays good."""

    secret_key: str
    admin_password: str
    api_key: str = ""
    sealing_key: str = ""


def recall_access(data_dir: Path) -> Access:
    """The keys of the last run in this directory, or new ones without an API key, which the database must make."""
    try:
        access = Access(**json.loads((data_dir / ACCESS).read_text()))
    except FileNotFoundError:
        access = Access(secret_key=secrets.token_urlsafe(48), admin_password=secrets.token_urlsafe(12))
    return access if access.sealing_key else replace(access, sealing_key=secrets.token_urlsafe(48))


def keep_access(data_dir: Path, access: Access) -> None:
    write_private(data_dir / ACCESS, json.dumps(asdict(access), indent=1))


def write_stack_env(data_dir: Path, settings: Mapping[str, str]) -> Path:
    """Note the settings as `config.py` reads them, so that every command of this checkout reaches this stack."""
    lines = [f"{name}={_quoted(value)}\n" for name, value in sorted(settings.items())]
    return write_private(data_dir / STACK_ENV, "".join(lines))


def write_private(file: Path, text: str) -> Path:
    """Write for our eyes only and as one whole: a kill leaves the old text or the new one."""
    new = file.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)
    new.replace(file)
    return file


def _quoted(value: str) -> str:
    """As python-dotenv reads it: inside single quotes a backslash, a quote and `${` mean something."""
    plain = value.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + plain.replace("${", "${:-$}{") + "'"  # it has no escape for `${`, but a variable with a default
