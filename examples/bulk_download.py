"""A file of URLs to a folder of results. Cut it off and start it again: it goes on. `bulk_download.py FILE DIR`"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from scrapejobs_client import Client


def jobs_in(file: Path) -> Iterator[dict[str, object]]:
    """The job of each line; the whole file is never in memory."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield {"url": line.strip(), "tags": {"file": file.name}}


def main(file: Path, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    n_failed = 0
    with Client(os.environ["SCRAPEJOBS_URL"], os.environ["SCRAPEJOBS_KEY"]) as client:
        for one in client.submit_many(jobs_in(file), state=folder / ".submitted"):
            if one.problem:
                print(f"line {one.index + 1}: {one.problem}")
                n_failed += 1
        for ended in client.results(job.id for job in client.jobs(tags={"file": file.name})):
            if ended.link:
                print(client.download(ended.job.id, folder))
            else:
                print(f"{ended.job.url}: {ended.job.last_error or ended.job.status}")
                n_failed += 1
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
