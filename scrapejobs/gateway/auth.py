"""Who calls: `Authorization: Bearer sj_<public id>_<secret>`. One answer for every fault, and no hint which."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from scrapejobs.adapters.limiter import Limit
from scrapejobs.gateway.context import context
from scrapejobs.gateway.limits import charge, charge_stranger, edition_of
from scrapejobs.gateway.problems import Problem
from scrapejobs.store import keys
from scrapejobs.store.keys import Credential, parse_key
from scrapejobs.store.run import Row, run

_NOBODY: Final = Credential("a" * 16, "a" * 32)
_NO_HASH: Final = bytes(32)


@dataclass(frozen=True, slots=True)
class Caller:
    """The tenant whose key was shown, and what the key may do: its scopes, its requests, and of its tenant's jobs how
    many may wait at once and how many may come in a day (None: any), and whether all of them obey robots.txt.
    """

    tenant_id: int
    key_id: int
    scopes: frozenset[str]
    limit: Limit
    max_queued: int | None = None
    daily: int | None = None
    robots: bool = False


NOBODY: Final = Caller(0, 0, frozenset(), Limit(1.0, 1.0))
"""Who calls a route that anyone may ask."""


class BearerAuthentication(BaseAuthentication):
    """A revocation holds from the next request on, though keys are not looked up at each (`gateway.known_keys`)."""

    def authenticate(self, request: Request) -> tuple[Caller, None]:
        """The caller. Raises `Problem` unauthenticated, quota-exceeded; an unknown key costs the same look-up and
        comparison.
        """
        scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        credential = parse_key(text) if scheme.lower() == "bearer" else None
        here = context().known_keys
        known, edition = here.get(credential.public_id) if credential else None, here.edition
        row = _checked(request, credential, known.row if known else _found(credential))
        charge(request.META, key=row["id"], limit=_limit(row["rate"], row["burst"]))
        here.edition = edition_of(request.META)
        if known and known.edition != here.edition:
            known, edition = None, here.edition
            row = _checked(request, credential, _found(credential))
        if known is None and credential is not None:
            here.keep(credential.public_id, row, edition=edition)
        limit, caps = _limit(row["rate"], row["burst"]), (row["max_queued"], row["daily"], row["robots"])
        return Caller(row["tenant_id"], row["id"], frozenset(row["scopes"]), limit, *caps), None


def _found(credential: Credential | None) -> Row | None:
    return run(keys.find((credential or _NOBODY).public_id))


def _checked(request: Request, credential: Credential | None, row: Row | None) -> Row:
    """The row, if the secret is right. Raises `Problem` unauthenticated, quota-exceeded."""
    stored = bytes(row["secret_sha256"]) if row else _NO_HASH
    is_right = hmac.compare_digest((credential or _NOBODY).sha256, stored)
    if credential is None or row is None or not is_right:
        charge_stranger(request.META)
        raise Problem("unauthenticated", headers={"WWW-Authenticate": 'Bearer realm="scrapejobs"'})
    return row


def _limit(rate: float | None, burst: float | None) -> Limit:
    """What the tenant's row says; the settings where it says nothing. A rate without a burst has a second's worth."""
    config = context().config
    if rate is None:
        return Limit(config.api_rate, burst or config.api_burst)
    return Limit(rate, burst or max(1.0, rate))


def require(caller: Caller, scope: str) -> None:
    """Raises `Problem` forbidden unless the key has the scope."""
    if scope not in caller.scopes:
        raise Problem("forbidden", f"needs the scope {scope}")


AUTHENTICATION: Final[Sequence[type[BaseAuthentication]]] = (BearerAuthentication,)
