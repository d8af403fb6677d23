"""Answers a stream of lines: the application is called for one piece after the other, as if each were a request.

Each piece is taken in by itself, and what is in stays in. The answer is sent when the stream has ended: many clients
read nothing before they have sent all, and two that wait for each other would wait for ever. Until then it is kept in a
file. From the first piece that is refused as a whole on nothing more is taken, and each line left has its problem.
"""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

import msgspec

from scrapejobs.gateway import lines
from scrapejobs.gateway.problems import REFUSED, Problem

Headers = list[tuple[str, str]]
Answer = tuple[int, Headers, bytes]

TAKEN: Final = 202
_IN_MEMORY: Final = 1024 * 1024
_CHUNK: Final = 64 * 1024


class Stream:
    """One request. `run` carries out a request of the application; a piece may take `body_s` seconds to come."""

    def __init__(
        self, run: Callable[[dict[str, Any]], Awaitable[Answer]], environ: dict[str, Any], *, body_s: float
    ) -> None:
        self._run = run
        self._environ = {
            name: value for name, value in environ.items() if name not in {"HTTP_TRANSFER_ENCODING", "CONTENT_LENGTH"}
        }
        self._body_s = body_s
        self._n_lines = 0

    async def serve(self, protocol: Any) -> None:
        pieces = lines.Cutter().pieces(protocol)
        try:
            status, headers, content = await self._ask(await self._next(pieces), number=0)
        except Problem as problem:
            status, headers, content = await self._run(self._environ | {REFUSED: problem})
        if status != TAKEN:
            protocol.response_bytes(status, [*headers, ("connection", "close")], content)
            return
        with SpooledTemporaryFile(max_size=_IN_MEMORY) as answers:
            answers.write(content)
            is_whole = await self._go_on(pieces, answers)
            await _answer(protocol, headers if is_whole else [*headers, ("connection", "close")], answers)

    async def _go_on(self, pieces: AsyncIterator[list[bytes]], answers: IO[bytes]) -> bool:
        """Takes the rest of the stream, and says whether it was read to its end."""
        refusal: bytes | None = None
        number = 0
        try:
            while piece := await self._next(pieces):
                number += 1
                if refusal is None:
                    status, _, content = await self._ask(piece, number=number)
                    refusal = content if status != TAKEN else None
                answers.write(content if refusal is None else (refusal.strip() + b"\n") * len(piece))
        except Problem as problem:
            answers.write(msgspec.json.encode(problem.body()) + b"\n")
            return False
        return True

    async def _next(self, pieces: AsyncIterator[list[bytes]]) -> list[bytes]:
        """The next piece; empty at the end. Raises `Problem` when it does not come in time, or is one too many."""
        try:
            async with asyncio.timeout(self._body_s):
                piece: list[bytes] = await anext(pieces, [])
        except TimeoutError:
            raise Problem("request-timeout", f"the next lines did not come within {self._body_s:g} s") from None
        self._n_lines += len(piece)
        if self._n_lines > lines.MAX_LINES:
            raise Problem("too-many-items", f"no more than {lines.MAX_LINES} lines; what follows was not read")
        return piece

    async def _ask(self, piece: list[bytes], *, number: int) -> Answer:
        text = b"\n".join(piece)
        return await self._run(
            self._environ | {"CONTENT_LENGTH": str(len(text)), "wsgi.input": io.BytesIO(text), lines.PIECE: number}
        )


async def _answer(protocol: Any, headers: Headers, answers: IO[bytes]) -> None:
    size = answers.tell()
    answers.seek(0)
    headers = [(name, value) for name, value in headers if name != "content-length"]
    transport = protocol.response_stream(TAKEN, [*headers, ("content-length", str(size))])
    while chunk := answers.read(_CHUNK):
        await transport.send_bytes(chunk)
