"""How many pages a worker fetches, beside the limit and beside Scrapy: `python -m benchmarks.fetch [CELL ...]`.

Pages of 200 KB from a site on loopback, a process of its own that does as little as a server can; its load is shown, so
that one sees that it was not what was measured. `kept` and `bare` are aiohttp's client with nothing around it: with
connections kept, and with one for each page as every fetch of a job must have. Ours is the worker's own fetcher, which
also hashes and checks. Stored pages go to a real S3 server. Compare within a run: the machine's speed is in every
figure.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fetch.contender import BUCKET, KEY, SECRET
from scrapejobs.adapters.embedded import free_port
from scrapejobs.adapters.embedded.s3 import s3

ROOT = Path(__file__).resolve().parents[2]
PAGE_KB = 200
AT_ONCE = (20, 200, 2000)
PAGES, SCRAPY_PAGES, STORED_PAGES = 4000, 1500, 1500
UNSTORED, STORED, MEMORY_MIB = 0.7, 4.0, 20.0


@dataclass(frozen=True)
class Took:
    """What a contender took for its pages; `site`: the share of one core that the site was busy."""

    pages: int
    at_once: int
    seconds: float
    cpu_s: float
    grown_mib: float
    site: float

    @property
    def rate(self) -> float:
        return self.pages / self.seconds

    @property
    def cpu_ms(self) -> float:
        return self.cpu_s / self.pages * 1000

    @property
    def mib_per_100(self) -> float:
        return self.grown_mib / self.at_once * 100


@dataclass(frozen=True)
class Stand:
    url: str
    site: subprocess.Popen[str]
    store: str

    def take(self, name: str, *, at_once: int, pages: int, stored: bool = False) -> Took:
        pages = max(pages, 2 * at_once)
        argv = ["-m", "benchmarks.fetch.contender", name, self.url, str(at_once), str(pages)]
        before = self._site_cpu_s()
        done = subprocess.run(
            [sys.executable, *argv, *([self.store] if stored else [])], cwd=ROOT, stdout=subprocess.PIPE, check=True
        )
        took = json.loads(done.stdout.splitlines()[-1])
        return Took(pages, at_once, site=(self._site_cpu_s() - before) / took["seconds"], **took)

    def _site_cpu_s(self) -> float:
        fields = Path(f"/proc/{self.site.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def stand() -> Iterator[Stand]:
    """A site and an object store of this run alone."""
    with tempfile.TemporaryDirectory(prefix="scrapejobs-bench-") as directory:
        data_dir = Path(directory)
        store = s3(data_dir, port=free_port(), access_key_id=KEY, secret_access_key=SECRET)
        argv = [sys.executable, "-m", "benchmarks.fetch.site", str(PAGE_KB)]
        site = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert site.stdout is not None
            store.start()
            (data_dir / "s3" / BUCKET).mkdir()
            yield Stand(f"http://127.0.0.1:{int(site.stdout.readline())}/", site, store.url)
        finally:
            site.kill()
            site.wait()
            store.stop()


def unstored(stand: Stand) -> None:
    """Fetched, hashed, checked and thrown away."""
    for at_once in AT_ONCE:
        kept, bare, ours = (stand.take(name, at_once=at_once, pages=PAGES) for name in ("kept", "bare", "ours"))
        scrapy = stand.take("scrapy", at_once=at_once, pages=SCRAPY_PAGES)
        head(f"unstored, {at_once} at once")
        show("  kept", kept)
        show("  bare", bare)
        note = f"{ours.rate / bare.rate:.2f} of bare (target {UNSTORED}), {ours.rate / kept.rate:.2f} of kept"
        show("  ours", ours, note)
        show("  scrapy", scrapy, f"ours is {scrapy.cpu_ms / ours.cpu_ms:.1f} x by CPU")


def stored(stand: Stand) -> None:
    """As `unstored`, and each page put into the object store; ours looks there whether it can be read."""
    for at_once in AT_ONCE:
        ours = stand.take("ours", at_once=at_once, pages=STORED_PAGES, stored=True)
        scrapy = stand.take("scrapy", at_once=at_once, pages=STORED_PAGES, stored=True)
        head(f"stored, {at_once} at once")
        show("  ours", ours, f"{scrapy.cpu_ms / ours.cpu_ms:.1f} x Scrapy's pages per CPU second (target {STORED:g})")
        show("  scrapy", scrapy)


def head(what: str) -> None:
    print(f"{what:24} pages/s   CPU a page   MiB per 100 at once   site busy")


def show(name: str, took: Took, note: str = "") -> None:
    memory = f"{took.mib_per_100:8.1f}"
    print(f"{name:24} {took.rate:7.0f} {took.cpu_ms:9.2f} ms {memory:>16} {took.site:17.0%}   {note}", flush=True)


CELLS: dict[str, Callable[[Stand], None]] = {"unstored": unstored, "stored": stored}


def main(names: Sequence[str]) -> None:
    unknown = set(names) - CELLS.keys()
    if unknown:
        sys.exit(f"no such cell: {', '.join(sorted(unknown))}; there are {', '.join(CELLS)}")
    began_at = time.monotonic()
    with stand() as here:
        for name in names or CELLS:
            CELLS[name](here)
    print(f"{time.monotonic() - began_at:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
