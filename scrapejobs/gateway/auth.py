"""Who calls: `Authorization: Bearer sj_<public id>_<secret>`. One answer for every fault, and no hint which."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from scrapejobs.gateway.problems import Problem
from scrapejobs.store import keys
from scrapejobs.store.keys import Credential, parse_key
from scrapejobs.store.run import run

_NOBODY: Final = Credential("a" * 16, "a" * 32)
_NO_HASH: Final = bytes(32)


@dataclass(frozen=True, slots=True)
class Caller:
    """The tenant whose key was shown, what the key may do, how many jobs of the tenant may wait (None: any), and
    whether all of them obey robots.txt.
    """

    tenant_id: int
    scopes: frozenset[str]
    max_queued: int | None = None
    robots: bool = False


NOBODY: Final = Caller(0, frozenset())
"""Who calls a route that anyone may ask."""


class BearerAuthentication(BaseAuthentication):
    """Looks the key up at each request, so that a revocation holds from the next request on."""

    def authenticate(self, request: Request) -> tuple[Caller, None]:
        """The caller. Raises `Problem` unauthenticated; an unknown key costs the same look-up and comparison."""
        scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        credential = parse_key(text) if scheme.lower() == "bearer" else None
        row = run(keys.find((credential or _NOBODY).public_id))
        stored = bytes(row["secret_sha256"]) if row else _NO_HASH
        is_right = hmac.compare_digest((credential or _NOBODY).sha256, stored)
        if credential is None or row is None or not is_right:
            raise Problem("unauthenticated", headers={"WWW-Authenticate": 'Bearer realm="scrapejobs"'})
        return Caller(row["tenant_id"], frozenset(row["scopes"]), row["max_queued"], row["robots"]), None


def require(caller: Caller, scope: str) -> None:
    """Raises `Problem` forbidden unless the key has the scope."""
    if scope not in caller.scopes:
        raise Problem("forbidden", f"needs the scope {scope}")


AUTHENTICATION: Final[Sequence[type[BaseAuthentication]]] = (BearerAuthentication,)
