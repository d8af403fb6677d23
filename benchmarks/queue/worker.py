"""A real worker as a process, with the fetch left out: `python -m benchmarks.queue.worker SLOTS`. SIGTERM ends it."""

import asyncio
import os
import sys
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 - after Django is set up

from scrapejobs.domain.ids import object_key  # noqa: E402
from scrapejobs.domain.outcome import Exchange, Outcome, Stored, StoredResult  # noqa: E402
from scrapejobs.ops.health import Health  # noqa: E402
from scrapejobs.ops.loops import run_crew  # noqa: E402
from scrapejobs.ops.roles import Surroundings, worker_with  # noqa: E402
from scrapejobs.telemetry import log  # noqa: E402

SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of b"test"


class NoFetch:
    """Attempts that end at once, as if their answer were stored."""

    async def run(self, claimed: dict[str, Any]) -> Outcome:
        key = object_key(job_id=claimed["job_id"], tenant_id=claimed["tenant_id"], seq=claimed["seq"])
        return Stored(StoredResult(key, 4, SHA256, "text/plain", None, (), claimed["url"], 200, "yes"), Exchange())

    async def forget(self, key: str) -> None:
        """Nothing was stored."""


async def work(slots: int) -> None:
    around = Surroundings(settings.CONFIG, f"bench-{os.getpid()}", slots)
    await run_crew(worker_with(NoFetch(), around), bus=around.bus, wakes=around.wakes, health=Health())
    for link in around.links:
        await link.aclose()


if __name__ == "__main__":
    log.configure(role="worker", service="bench", level="warning")
    asyncio.run(work(int(sys.argv[1])))
