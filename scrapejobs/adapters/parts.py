"""Large bodies go into the object store in parts (S3's multipart upload): what is held and what fails is small."""

import asyncio
import base64
import hashlib
import re
from contextlib import AbstractAsyncContextManager, suppress
from io import BytesIO
from typing import IO, Final, Protocol
from urllib.parse import quote

import aiohttp

from scrapejobs.adapters.sigv4 import EMPTY_SHA256

PART_BYTES: Final = 8 * 1024 * 1024  # at least 5 MiB, and at most 10,000 of them
_PIECE_BYTES: Final = 1024 * 1024
_UPLOAD_ID: Final = re.compile(r"<UploadId>([^<]+)</UploadId>")
_DONE: Final = "<CompleteMultipartUploadResult"


class Ask(Protocol):
    """Sends one signed request for a key and raises unless it is answered with a success."""

    def __call__(
        self, method: str, *, query: str, sha256: str, headers: dict[str, str], data: BytesIO | None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]: ...


class Unfinished(aiohttp.ClientError):
    """The store answered, yet not as the protocol says."""


async def put_in_parts(ask: Ask, file: IO[bytes], *, content_type: str) -> None:
    """Store the rest of a file. The object is there when this returns and not before; else the upload is given up.
    Raises what `ask` makes of a failure, `Unfinished` among them.
    """
    headers = {"Content-Type": content_type}
    async with ask("POST", query="uploads=", sha256=EMPTY_SHA256, headers=headers, data=None) as answer:
        found = _UPLOAD_ID.search(await answer.text())
        if found is None:
            raise Unfinished
    upload = f"uploadId={quote(found[1], safe='-_.~')}"
    try:
        await _finish(ask, upload, await _send(ask, upload, file))
    except BaseException:
        with suppress(Exception):
            async with ask("DELETE", query=upload, sha256=EMPTY_SHA256, headers={}, data=None):
                pass
        raise


async def _send(ask: Ask, upload: str, file: IO[bytes]) -> list[str]:
    """The tags of the parts, in order."""
    tags: list[str] = []
    while part := await asyncio.to_thread(file.read, PART_BYTES):
        sha256, md5 = await asyncio.to_thread(_hashes, part)
        query = f"partNumber={len(tags) + 1}&{upload}"
        async with ask("PUT", query=query, sha256=sha256, headers={"Content-MD5": md5}, data=BytesIO(part)) as answer:
            tags.append(answer.headers.get("ETag", ""))
    return tags


async def _finish(ask: Ask, upload: str, tags: list[str]) -> None:
    """A store may say 200 and then in the answer that it failed (S3 API, CompleteMultipartUpload)."""
    parts = "".join(
        f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>" for number, tag in enumerate(tags, start=1)
    )
    body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
    sha256, headers = hashlib.sha256(body).hexdigest(), {"Content-Type": "text/xml"}
    async with ask("POST", query=upload, sha256=sha256, headers=headers, data=BytesIO(body)) as answer:
        if _DONE not in await answer.text():
            raise Unfinished


def _hashes(part: bytes) -> tuple[str, str]:
    return hashlib.sha256(part).hexdigest(), _encoded(hashlib.md5(part, usedforsecurity=False))


def md5_of(file: IO[bytes]) -> str:
    """The hash of the rest of a file as RFC 1864 writes it; the file stands where it stood."""
    start, digest = file.tell(), hashlib.md5(usedforsecurity=False)
    while piece := file.read(_PIECE_BYTES):
        digest.update(piece)
    file.seek(start)
    return _encoded(digest)


def _encoded(digest: "hashlib._Hash") -> str:
    return base64.b64encode(digest.digest()).decode()
