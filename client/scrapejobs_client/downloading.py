"""Results as files: streamed, gone on with after a cut, checked, and there under their name only when whole."""

import hashlib
import mimetypes
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import requests

from scrapejobs_client.errors import DownloadError
from scrapejobs_client.pauses import Pauses
from scrapejobs_client.shapes import ResultLink
from scrapejobs_client.transport import CONNECT_S, new_session

CHUNK: Final = 256 * 1024
LONGEST_STEM: Final = 120
_TYPES: Final = mimetypes.MimeTypes()  # the table of the standard library alone: one name on every machine
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.-]+")
_BYTES: Final = frozenset({200, 206})
_GONE_FOR_GOOD: Final = frozenset({404, 410})


def file_name(job_id: str, *, content_type: str | None, url: str | None = None) -> str:
    """A name that is safe in any folder: the job's id, after the URL if that is given, and the type's usual ending.

    Letters, digits, dots, dashes and underscores only; never hidden, never longer than file systems take.
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    stem = job_id
    if url is not None:
        parts = urlsplit(url)
        plain = _UNSAFE.sub("_", f"{parts.hostname or ''}{parts.path}_{parts.query}").strip("._-")[:LONGEST_STEM]
        stem = f"{plain}_{job_id}" if plain else job_id
    return stem + (_TYPES.guess_extension(kind) or ".bin")


class Fetch:
    """One download. `renew` gives a fresh link to the same bytes: a link is good for minutes only."""

    def __init__(
        self, renew: Callable[[], ResultLink], *, timeout_s: float, retry_for_s: float, user_agent: str
    ) -> None:
        self._renew = renew
        self._timeout_s = timeout_s
        self._retry_for_s = retry_for_s
        self._user_agent = user_agent
        self.link = renew()

    def to(self, path: Path) -> Path:
        """The bytes as a file at `path`. Raises `DownloadError`; what came is kept beside it, for the next time."""
        if _is_whole(path, self.link):
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        with open(part, "r+b", opener=_made) as stream:
            if not self._filled(stream):
                stream.truncate(0)  # what an earlier download left was not of these bytes
                if not self._filled(stream):
                    stream.truncate(0)
                    raise DownloadError(f"the bytes are not those that were stored (SHA-256 {self.link.sha256})")
            os.fsync(stream.fileno())
        try:
            part.replace(path)
        except FileNotFoundError:  # another download of the same job was faster, with the same bytes
            if not _is_whole(path, self.link):
                raise
        return path

    def _filled(self, stream: BinaryIO) -> bool:
        """Whether the stream, gone on with from its end, holds the bytes of the link."""
        stream.seek(0)
        digest, n = hashlib.sha256(), 0
        for chunk in iter(lambda: stream.read(CHUNK), b""):
            digest.update(chunk)
            n += len(chunk)
        pauses = Pauses(self._retry_for_s)
        while n < self.link.size:
            try:
                for chunk in self._chunks(n):
                    stream.write(chunk)
                    digest.update(chunk)
                    n += len(chunk)
                    pauses = Pauses(self._retry_for_s)
            except requests.RequestException as error:
                self._rest(pauses, error)
        return n == self.link.size and digest.hexdigest() == self.link.sha256

    def _rest(self, pauses: Pauses, error: Exception) -> None:
        """Before going on: a pause, and a fresh link. Raises `DownloadError` when it is time to give up."""
        rest_s = pauses.next_s(None)
        if rest_s is None:
            raise DownloadError(f"the object store does not give the bytes: {type(error).__name__}") from None
        time.sleep(rest_s)
        self.link = self._renew()

    def _chunks(self, begin: int) -> Iterator[bytes]:
        """The bytes from `begin` on, as stored."""
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={begin}-"} if begin else {})
        with (
            new_session(self.link.url, key=None, user_agent=self._user_agent) as session,
            session.get(
                self.link.url, headers=headers, stream=True, timeout=(CONNECT_S, self._timeout_s), allow_redirects=False
            ) as answer,
        ):
            if answer.status_code in _GONE_FOR_GOOD:
                raise DownloadError("the object is no longer in the store")
            if answer.status_code not in _BYTES:
                raise requests.HTTPError(f"status {answer.status_code}")
            # Some servers answer a range with 200, so the header counts; without it all bytes come, from the first on.
            n_known = 0 if answer.headers.get("Content-Range", "").startswith(f"bytes {begin}-") else begin
            n_new = 0
            for chunk in answer.iter_content(CHUNK):
                new = chunk[n_known:]
                n_known = max(0, n_known - len(chunk))
                n_new += len(new)
                if new:
                    yield new
            if not n_new:
                raise requests.ConnectionError("an answer without bytes")


def _made(path: str, flags: int) -> int:
    """Opens the file, made if it is not there and never emptied: two downloads of one job write the same bytes."""
    return os.open(path, flags | os.O_CREAT, 0o666)


def _is_whole(path: Path, link: ResultLink) -> bool:
    """Whether the file is there from an earlier download."""
    if not path.is_file() or path.stat().st_size != link.size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == link.sha256
