"""A webhook receiver as a process: `python -m tests.chaos.receiver --log FILE --secret whsec_...`.

Each call is in the log, with whether its signature is right by the published library, before it is answered:
`/ok/...` 200, `/fail/...` 500 to the first call of a path, `/hang/...` nothing to the first call of a path.
"""

import argparse
import asyncio
import json
import signal
from collections import Counter
from pathlib import Path

from standardwebhooks import Webhook, WebhookVerificationError

from tests.chaos import wire
from tests.chaos.journal import Journal
from tests.chaos.pages import kind_of


class Receiver:
    """Takes what the courier brings."""

    def __init__(self, log: Journal, secret: str) -> None:
        self._log = log
        self._webhook = Webhook(secret)
        self._calls: Counter[str] = Counter()
        self._never = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await wire.read_request(reader)
            self._calls[request.path] += 1
            status = self._status(request.path)
            self._log.note(
                path=request.path,
                event_id=request.headers.get("webhook-id"),
                job_id=_job_id(request.body),
                is_valid=self._is_valid(request),
                status=status,
            )
            if status is None:
                await wire.stays(reader, self._never)
            else:
                writer.write(wire.head(status, 0))
                await writer.drain()
        except (wire.Gone, ConnectionError):
            pass
        finally:
            writer.close()

    def _status(self, path: str) -> int | None:
        if self._calls[path] > 1:
            return 200
        return {"fail": 500, "hang": None}.get(kind_of(path), 200)

    def _is_valid(self, request: wire.Request) -> bool:
        try:
            self._webhook.verify(request.body, dict(request.headers))
        except WebhookVerificationError:
            return False
        return True


def _job_id(body: bytes) -> str | None:
    try:
        return str(json.loads(body)["id"])
    except (ValueError, KeyError, TypeError):
        return None


async def run(log: Journal, *, secret: str) -> None:
    """Serves until SIGTERM; the first line on stdout is the port."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = await asyncio.start_server(Receiver(log, secret).serve, "127.0.0.1", 0, limit=wire.MOST_HEAD_BYTES)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - how the parent learns it
    await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--secret", required=True)
    options = parser.parse_args()
    asyncio.run(run(Journal(options.log), secret=options.secret))


if __name__ == "__main__":
    main()
