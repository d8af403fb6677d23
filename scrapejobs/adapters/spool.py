"""A body being received: in memory up to 1 MiB, then on disk; counted, capped and hashed as it comes."""

import asyncio
import hashlib
from contextlib import suppress
from io import BytesIO
from tempfile import TemporaryFile
from threading import BoundedSemaphore
from typing import IO

MEMORY_BYTES = 1024 * 1024
INLINE_BYTES = 64 * 1024
"""Up to this a hash is taken in the event loop; of more it would hold up the others."""
_ASIDE = BoundedSemaphore(2)
"""How many bodies are hashed in threads at once. With both busy the loop does it: bodies must not pile up waiting."""


class TooLarge(Exception):  # noqa: N818 - says what it is
    """More bytes came than the cap allows."""


class Spool:
    """Takes at most `max_bytes`; the file belongs to whoever called `finish`, until then to the spool."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pending: list[bytes] = []
        self._n_pending = 0
        self._digest = hashlib.sha256()
        self._file: IO[bytes] | None = None
        self.size = 0

    async def write(self, piece: bytes) -> None:
        """Take the next bytes. Raises `TooLarge` when they pass the cap; what is below it is taken all the same."""
        is_too_large = self.size + len(piece) > self._max_bytes
        piece = piece[: self._max_bytes - self.size]
        self.size += len(piece)
        self._pending.append(piece)
        self._n_pending += len(piece)
        if self._n_pending >= MEMORY_BYTES:
            await asyncio.to_thread(self._flush)
        if is_too_large:
            raise TooLarge

    async def finish(self) -> IO[bytes]:
        """The whole body, rewound."""
        if self._file is None:
            data = b"".join(self._pending)
            self._pending.clear()
            await self._hash(data)
            return BytesIO(data)
        await asyncio.to_thread(self._flush)
        self._file.seek(0)
        return self._file

    async def _hash(self, data: bytes) -> None:
        if len(data) <= INLINE_BYTES or not _ASIDE.acquire(blocking=False):
            self._digest.update(data)
            return
        try:
            await asyncio.to_thread(self._digest.update, data)
        finally:
            _ASIDE.release()

    def sha256(self) -> str:
        """The hash of what was finished, in hex."""
        return self._digest.hexdigest()

    def close(self) -> None:
        """Throw away what came; a full disk is no reason to keep it."""
        self._pending.clear()
        if self._file is not None:
            with suppress(OSError):  # it would write what it still holds, and closes all the same
                self._file.close()

    def _flush(self) -> None:
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115 - outlives this call
        data = b"".join(self._pending)
        self._pending.clear()
        self._n_pending = 0
        self._digest.update(data)
        self._file.write(data)
