"""Whose rights the database server runs with, and which folders those rights reach."""

import contextlib
import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapejobs.adapters.embedded.errors import EmbeddedError

UNPRIVILEGED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine."""

    name: str
    uid: int
    gid: int

    def as_keywords(self) -> dict[str, Any]:
        """For `subprocess.Popen`: run as this user, with none of our groups."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        os.chown(path, self.uid, self.gid)

    def reaches(self, path: Path) -> bool:
        """Whether every folder on the way to `path` and `path` itself let this user in."""
        resolved = path.resolve()
        return all(self._may_enter(place) for place in (resolved, *resolved.parents))

    def _may_enter(self, place: Path) -> bool:
        status = place.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & 0o100)
        return bool(status.st_mode & 0o001)


def unprivileged() -> Account | None:
    """Who the database server runs as: None means us; as root another user, because the server refuses root.

    Raises `EmbeddedError` if we are root and the machine has no such user.
    """
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedError(f"PostgreSQL refuses to run as root, and there is no user {' or '.join(UNPRIVILEGED)} here")
