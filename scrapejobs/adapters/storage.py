"""The object store (S3): results go in by signed puts and out to clients by signed links alone (FR-8).

Puts, the path of every job, go over one aiohttp session; what is rare goes through boto3, which is imported when
first needed and blocks: in an event loop call it in a thread.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.payload import IOBasePayload
from yarl import URL

from scrapejobs import failpoints
from scrapejobs.adapters.parts import PART_BYTES, md5_of, put_in_parts
from scrapejobs.adapters.sigv4 import EMPTY_SHA256, Signer, object_path
from scrapejobs.adapters.spool import INLINE_BYTES
from scrapejobs.config import Config
from scrapejobs.domain.content_type import attachment

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

SMALL_BYTES = 1024 * 1024  # up to this a body is sent from memory
CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 30.0
SLOWEST_PUT_BYTES_S = 256 * 1024
SINGLE_PUT_BYTES = 64 * 1024 * 1024  # more than this goes in parts

failpoints.declare("put", "begin", "done")

_REFUSED = frozenset({400, 403})
_NOT_FOUND = 404
_LINK_TYPE = "application/octet-stream"  # a browser must not show what a target sent


class StorageUnavailable(Exception):  # noqa: N818 - says what it is
    """The object store did not do what was asked; another try may succeed. Carries nothing of its answer."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object as a listing shows it; `size` in bytes."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class Page:
    """Objects in the order of their keys. `after`: where the next page starts, None when this is the last."""

    objects: tuple[StoredObject, ...]
    after: str | None


class ObjectStore:
    """One bucket. `public_endpoint` is the store's address as clients reach it, for links. `clock`: this machine's."""

    def __init__(
        self,
        endpoint: str,
        *,
        bucket: str,
        region: str,
        key: str,
        secret: str,
        public_endpoint: str | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._public_endpoint = (public_endpoint or endpoint).rstrip("/")
        self._bucket = bucket
        self._region = region
        self._key = key
        self._secret = secret
        self._signer = Signer(key=key, secret=secret, region=region)
        self._session: aiohttp.ClientSession | None = None
        self._clock = clock
        self._store_is_ahead = timedelta()

    async def put(self, key: str, file: IO[bytes], *, size: int, sha256: str, content_type: str | None) -> None:
        """Store the file from where it stands: `size` bytes with this hash.

        The object can be read when this returns. Raises `StorageUnavailable`. The file stays the caller's.
        """
        failpoints.reach("put", "begin")
        if size > SINGLE_PUT_BYTES:
            await self._put_in_parts(key, file, content_type=content_type or _LINK_TYPE)
        else:
            await self._put_whole(key, file, size=size, sha256=sha256, content_type=content_type or _LINK_TYPE)
        failpoints.reach("put", "done")

    async def _put_whole(self, key: str, file: IO[bytes], *, size: int, sha256: str, content_type: str) -> None:
        # Not every store checks the hash that a signature names (rclone does not); RFC 1864 is checked by all of them.
        md5 = await asyncio.to_thread(md5_of, file) if size > INLINE_BYTES else md5_of(file)
        headers = {"Content-Type": content_type, "Content-Length": str(size), "Content-MD5": md5}
        # Both kinds can be sent again when the store has closed a kept connection; an iterator could not.
        data = file.read() if size <= SMALL_BYTES else IOBasePayload(file)
        timeout_s = ANSWER_TIMEOUT_S + size / SLOWEST_PUT_BYTES_S
        async with self._request("PUT", key, sha256, timeout_s=timeout_s, headers=headers, data=data) as answer:
            _check(answer)

    async def _put_in_parts(self, key: str, file: IO[bytes], *, content_type: str) -> None:
        @asynccontextmanager
        async def ask(method: str, **more: Any) -> AsyncIterator[aiohttp.ClientResponse]:
            timeout_s = ANSWER_TIMEOUT_S + PART_BYTES / SLOWEST_PUT_BYTES_S
            async with self._request(method, key, timeout_s=timeout_s, **more) as answer:
                _check(answer)
                yield answer

        await put_in_parts(ask, file, content_type=content_type)

    async def head(self, key: str) -> int | None:
        """The size of an object in bytes, None when there is none. Raises `StorageUnavailable`."""
        async with self._request("HEAD", key) as answer:
            if answer.status == _NOT_FOUND:
                return None
            _check(answer)
            return answer.content_length

    async def delete(self, key: str) -> None:
        """Remove an object; none there is as good. Raises `StorageUnavailable`."""
        async with self._request("DELETE", key) as answer:
            if answer.status != _NOT_FOUND:
                _check(answer)

    async def close(self) -> None:
        """Close the kept connections; the next call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def presign_get(self, key: str, *, expires_s: float, filename: str) -> str:
        """A link that anyone can GET for `expires_s` seconds: an attachment of that name, never shown in place."""
        params = {
            "Bucket": self._bucket,
            "Key": key,
            "ResponseContentDisposition": attachment(filename),
            "ResponseContentType": _LINK_TYPE,
        }
        return self._public_s3.generate_presigned_url("get_object", Params=params, ExpiresIn=int(expires_s))

    def ensure_bucket(self) -> None:
        """Create the bucket unless it is there. Raises `StorageUnavailable`."""
        with _translated():
            if any(bucket["Name"] == self._bucket for bucket in self._s3.list_buckets()["Buckets"]):
                return
            if self._region == "us-east-1":  # the one region that must not be named
                self._s3.create_bucket(Bucket=self._bucket)
            else:
                place = {"LocationConstraint": self._region}
                self._s3.create_bucket(Bucket=self._bucket, CreateBucketConfiguration=place)  # type: ignore[arg-type]

    def delete_prefix(self, prefix: str) -> int:
        """Remove every object whose key begins so, and say how many. Raises `StorageUnavailable`."""
        n_deleted = 0
        with _translated():
            for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
                n_deleted += self._delete([found["Key"] for found in page.get("Contents", [])])
        return n_deleted

    def list_page(self, *, prefix: str = "", after: str = "", limit: int = 1000) -> Page:
        """The next objects behind a key, at most 1000: one request. Raises `StorageUnavailable`."""
        with _translated():
            found = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=prefix, StartAfter=after, MaxKeys=limit)
        objects = tuple(StoredObject(one["Key"], one["Size"]) for one in found.get("Contents", []))
        return Page(objects, objects[-1].key if found.get("IsTruncated") and objects else None)

    def delete_all(self, keys: Sequence[str]) -> None:
        """Remove up to 1000 objects in one request; those that are not there are as good. Raises
        `StorageUnavailable`, when some may be gone.
        """
        with _translated():
            self._delete(keys)

    def _delete(self, keys: Sequence[str]) -> int:
        if keys:
            doomed = [{"Key": key} for key in keys]
            answer = self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": doomed, "Quiet": True})  # type: ignore[typeddict-item]
            if answer.get("Errors"):
                raise StorageUnavailable(f"{len(answer['Errors'])} objects could not be deleted")
        return len(keys)

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        key: str,
        sha256: str = EMPTY_SHA256,
        *,
        timeout_s: float = ANSWER_TIMEOUT_S,
        query: str = "",
        headers: dict[str, str] | None = None,
        data: bytes | IO[bytes] | IOBasePayload | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        path, now = object_path(self._bucket, key), self._clock() + self._store_is_ahead
        url = URL(self._endpoint + path + (f"?{query}" if query else ""), encoded=True)
        host = urlsplit(self._endpoint).netloc
        signed = self._signer.headers(method, path, query=query, host=host, sha256=sha256, now=now)
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._connected().request(
                    method, url, headers={**(headers or {}), **signed}, data=data, allow_redirects=False
                ) as answer,
            ):
                self._mind_its_clock(answer)
                yield answer
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise StorageUnavailable(f"the object store failed at {method}: {type(error).__name__}") from error

    def _mind_its_clock(self, answer: aiohttp.ClientResponse) -> None:
        """A signature is good for a quarter of an hour by the store's clock, and a machine's own may be further off:
        a refusal says the store's time (RFC 9110, 6.6.1), and the next try is signed by that.
        """
        if answer.status in _REFUSED:
            with suppress(KeyError, ValueError):
                self._store_is_ahead = parsedate_to_datetime(answer.headers["Date"]) - self._clock()

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Content-Type", "User-Agent", "Accept-Encoding"),
                trust_env=False,
            )
        return self._session

    @cached_property
    def _s3(self) -> "S3Client":
        return self._client(self._endpoint)

    @cached_property
    def _public_s3(self) -> "S3Client":
        return self._client(self._public_endpoint)

    def _client(self, endpoint: str) -> "S3Client":
        import boto3
        from botocore.config import Config as Behaviour
        from botocore.session import Session

        # Neither a profile nor a file of the account that runs this: the settings alone say which store it is.
        nowhere = {"profile": None, "config_file": os.devnull, "credentials_file": os.devnull}
        session = Session(session_vars={name: (None, None, value, None) for name, value in nowhere.items()})
        return boto3.Session(botocore_session=session).client(
            "s3",
            endpoint_url=endpoint,
            region_name=self._region,
            aws_access_key_id=self._key,
            aws_secret_access_key=self._secret,
            config=Behaviour(
                signature_version="s3v4",
                s3={"addressing_style": "path"},
                connect_timeout=CONNECT_TIMEOUT_S,
                read_timeout=ANSWER_TIMEOUT_S,
                retries={"total_max_attempts": 2},
                proxies={},  # none from the environment
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )


def object_store(config: Config) -> ObjectStore:
    """The object store of the settings."""
    return ObjectStore(
        config.s3_endpoint_url,
        bucket=config.s3_bucket,
        region=config.s3_region,
        key=config.s3_access_key_id.get_secret_value(),
        secret=config.s3_secret_access_key.get_secret_value(),
        public_endpoint=config.s3_public_endpoint_url,
    )


def _check(answer: aiohttp.ClientResponse) -> None:
    if not answer.ok:
        raise StorageUnavailable(f"the object store answered {answer.status} to {answer.method}")


@contextmanager
def _translated() -> Iterator[None]:
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (Boto3Error, BotoCoreError, ClientError) as error:
        raise StorageUnavailable(f"the object store failed: {type(error).__name__}") from error
