"""One contender as a process: `python -m benchmarks.fetch.contender NAME URL AT_ONCE PAGES [STORE]`.

It fetches so many pages, so many at once, stores each in the object store if that is given, and prints what it took.
Its CPU and its memory count from when it is ready to begin.
"""

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from ipaddress import ip_network
from math import inf
from pathlib import Path
from typing import Any
from uuid import UUID

Work = Callable[[int], Awaitable[None]]
"""Fetches the page of that number, and stores it where that is the task."""

KEY, SECRET, BUCKET = "bench-key", "bench-secret", "bench"


async def in_turns(work: Work, *, at_once: int, pages: int) -> None:
    """Does the work of all pages, so many at once."""
    numbers = iter(range(pages))

    async def turn() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(turn() for _ in range(at_once)))


async def bare(url: str, *, at_once: int, pages: int, keeps: bool) -> None:
    """The limit: aiohttp's client, the body read piece by piece and forgotten."""
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=not keeps)) as session:

        async def work(number: int) -> None:
            async with session.get(f"{url}?n={number}") as response:
                pieces = [piece async for piece in response.content.iter_any()]
            assert sum(map(len, pieces)) > 0

        await in_turns(work, at_once=at_once, pages=pages)


async def ours(url: str, *, at_once: int, pages: int, store: str | None) -> None:
    """The worker's own fetcher and runner."""
    from scrapejobs.adapters.fetcher import Fetched, Fetcher, FetchLimits, FetchRequest
    from scrapejobs.adapters.storage import ObjectStore
    from scrapejobs.domain.addresses import EgressPolicy
    from scrapejobs.domain.outcome import Stored
    from scrapejobs.worker.runner import FetchRunner

    async def permit(_seq: int, _host: str) -> None:
        """A permit for every request."""

    policy = EgressPolicy(allow=(ip_network("127.0.0.0/8"),))
    fetcher = Fetcher(FetchLimits(policy=policy, connect_timeout_s=600.0))
    objects = ObjectStore(store or "http://127.0.0.1:1", bucket=BUCKET, region="us-east-1", key=KEY, secret=SECRET)
    runner = FetchRunner(fetcher, objects, permit)

    async def fetch(number: int) -> None:
        fetched = await fetcher.fetch(FetchRequest(f"{url}?n={number}"))
        assert isinstance(fetched, Fetched), fetched
        fetched.body.close()

    async def fetch_and_store(number: int) -> None:
        outcome = await runner.run({**JOB, "seq": number + 1, "url": f"{url}?n={number}"})
        assert isinstance(outcome, Stored), outcome

    await in_turns(fetch_and_store if store else fetch, at_once=at_once, pages=pages)
    await objects.close()


JOB = {
    "job_id": UUID("019ac000-0000-7000-8000-000000000000"),
    "tenant_id": 1,
    "remaining_s": 600.0,
    "sealed": None,
    "send_by": inf,
    "params": {
        "method": "GET",
        "headers": {},
        "query": {},
        "body": None,
        "json": None,
        "timeout_s": 600.0,
        "max_bytes": 20 * 1024 * 1024,
        "follow_redirects": True,
        "accept_statuses": [],
        "expect": None,
    },
}


def scrapy(url: str, *, at_once: int, pages: int, store: str | None) -> None:
    """A spider whose parse method stores the body with Scrapy's own S3 store, in its threads."""
    from io import BytesIO

    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess
    from scrapy.pipelines.files import S3FilesStore
    from scrapy.utils.defer import maybe_deferred_to_future

    S3FilesStore.AWS_ACCESS_KEY_ID, S3FilesStore.AWS_SECRET_ACCESS_KEY = KEY, SECRET
    S3FilesStore.AWS_ENDPOINT_URL, S3FilesStore.AWS_REGION_NAME = store, "us-east-1"
    S3FilesStore.AWS_MAX_POOL_CONNECTIONS = 50
    files = S3FilesStore(f"s3://{BUCKET}/") if store else None

    class Pages(Spider):
        name = "pages"

        async def start(self) -> AsyncIterator[Any]:
            for number in range(pages):
                yield Request(f"{url}?n={number}", dont_filter=True, cb_kwargs={"number": number})

        async def parse(self, response: Any, number: int) -> None:
            assert response.body
            if files is not None:
                await maybe_deferred_to_future(files.persist_file(f"scrapy/{number}", BytesIO(response.body), None))

    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": at_once,
            "CONCURRENT_REQUESTS_PER_DOMAIN": at_once,
            "DOWNLOAD_DELAY": 0,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "RETRY_ENABLED": False,
            "COOKIES_ENABLED": False,
            "REACTOR_THREADPOOL_MAXSIZE": 50,
            "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1 << 40,
        }
    )
    process.crawl(Pages)
    process.start()


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rss_mib(name: str) -> float:
    """`VmRSS` now, or `VmHWM`, the most that it was."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def main(name: str, url: str, at_once: int, pages: int, store: str | None) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))

    def run(n: int, width: int) -> None:
        if name == "scrapy":
            scrapy(url, at_once=width, pages=n, store=store)
        elif name == "ours":
            asyncio.run(ours(url, at_once=width, pages=n, store=store))
        else:
            asyncio.run(bare(url, at_once=width, pages=n, keeps=name == "kept"))

    if name != "scrapy":  # whose reactor runs once; its imports are counted, which are nothing beside its work
        run(10, 1)
    rss, cpu, began_at = rss_mib("VmRSS"), cpu_s(), time.perf_counter()
    run(pages, at_once)
    took = {"seconds": time.perf_counter() - began_at, "cpu_s": cpu_s() - cpu, "grown_mib": rss_mib("VmHWM") - rss}
    print(json.dumps(took), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] if len(sys.argv) > 5 else None)
