"""How secrets are kept: sealed with a key that the database does not have (NFR-12; ADR-0025).

A sealed value is the id of its key, a nonce, and what AES-256-GCM made of it. Each job has keys of its own, derived
from the ring's: what is moved to another row, or to another use, cannot be opened.
"""

import hashlib
import hmac
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from scrapejobs.domain.masking import Request, masked_callback, parted, whole
from scrapejobs.store.run import Row

Use = Literal["request", "callback"]

KEY_ID_BYTES: Final = 4
ERASED: Final = b""
"""What stands where something was sealed once. NULL: nothing was."""

_NONCE_BYTES: Final = 12


class KeyMissing(Exception):  # noqa: N818 - what is the case, not whose fault
    """It was sealed with a key that this ring has not."""


class Damaged(Exception):  # noqa: N818 - as above
    """It is not what was sealed: other bytes, or those of another job or use."""


class Ring:
    """Sealing keys, as texts. The first one seals, all open."""

    def __init__(self, keys: Iterable[str]) -> None:
        roots = [hashlib.sha256(key.encode()).digest() for key in keys]
        self._roots = {_derived(root, b"id", length=KEY_ID_BYTES): root for root in roots}

    @property
    def ids(self) -> list[bytes]:
        """The ids of the keys, that of the one which seals first."""
        return list(self._roots)

    def seal(self, value: Any, *, use: Use, job_id: UUID) -> bytes:
        """A JSON value, sealed for one use of one job. Raises `KeyMissing` when the ring is empty."""
        if not self._roots:
            raise KeyMissing
        key_id, root = next(iter(self._roots.items()))
        nonce = os.urandom(_NONCE_BYTES)
        return key_id + nonce + AESGCM(_key_of(root, use, job_id)).encrypt(nonce, msgspec.json.encode(value), None)

    def open(self, sealed: bytes, *, use: Use, job_id: UUID) -> Any:
        """What was sealed. Raises `KeyMissing`, `Damaged`."""
        key_id, rest = sealed[:KEY_ID_BYTES], sealed[KEY_ID_BYTES:]
        if len(rest) < _NONCE_BYTES:
            raise Damaged
        root = self._roots.get(key_id)
        if root is None:
            raise KeyMissing
        try:
            plain = AESGCM(_key_of(root, use, job_id)).decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], None)
        except InvalidTag:
            raise Damaged from None
        return msgspec.json.decode(plain)

    def marks(self, digest: bytes) -> list[bytes]:
        """A digest of secrets as it may be kept, under each key, the first one's first: nobody without the key can try
        guesses at it.
        """
        keyed = ((key_id, _derived(root, b"mark", length=32)) for key_id, root in self._roots.items())
        return [key_id + hmac.digest(key, digest, "sha256") for key_id, key in keyed]


NO_KEYS: Final = Ring(())
"""The ring of what meets no secret."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A job's request as its row holds it: URL and params masked, and the secrets of both sealed, if there are any."""

    url: str
    params: dict[str, Any]
    sealed: bytes | None


def keep_request(ring: Ring, url: str, params: dict[str, Any], *, job_id: UUID) -> Kept:
    """A request made fit for its row."""
    request = parted(url, params)
    sealed = ring.seal(request.secret, use="request", job_id=job_id) if request.secret else None
    return Kept(request.url, request.params, sealed)


def keep_callback(ring: Ring, url: str, *, job_id: UUID) -> tuple[str, bytes | None]:
    """A callback URL made fit for its rows: masked, and itself sealed if that hides anything."""
    masked = masked_callback(url)
    return masked, ring.seal(url, use="callback", job_id=job_id) if masked != url else None


def open_request(ring: Ring, row: Row) -> Row:
    """A row of `ready/claim.sql` with the URL and params that are to be sent. Raises `KeyMissing`, `Damaged`."""
    if row["sealed"] is None:
        return row
    secret = ring.open(bytes(row["sealed"]), use="request", job_id=row["job_id"])
    url, params = whole(Request(row["url"], row["params"], secret))
    return row | {"url": url, "params": params}


def open_callback(ring: Ring, row: Row) -> str:
    """The URL that a row of `delivery/claim.sql` is to be posted to. Raises `KeyMissing`, `Damaged`."""
    if row["sealed"] is None:
        return str(row["url"])
    return str(ring.open(bytes(row["sealed"]), use="callback", job_id=row["job_id"]))


def _key_of(root: bytes, use: Use, job_id: UUID) -> bytes:
    return _derived(root, use.encode() + job_id.bytes, length=32)


def _derived(root: bytes, info: bytes, *, length: int) -> bytes:
    return HKDFExpand(SHA256(), length, b"scrapejobs 1 " + info).derive(root)
