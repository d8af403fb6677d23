"""A fresh set of attempts for the jobs of a tag that failed for a passing reason. `requeue_failed.py TAG=VALUE`"""

import os
import sys

from scrapejobs_client import ApiError, Client


def main(name: str, value: str) -> int:
    with Client(os.environ["SCRAPEJOBS_URL"], os.environ["SCRAPEJOBS_KEY"]) as client:
        failed = list(client.jobs(status="failed", tags={name: value}))
        for job in failed:
            if job.last_error is None or job.last_error.kind != "temporary":
                print(f"left alone  {job.url}  {job.last_error}")
                continue
            try:
                client.requeue(job.id)
            except ApiError as error:
                if error.name != "not-failed":  # somebody else has requeued it
                    raise
            print(f"requeued  {job.url}")
    return 0


if __name__ == "__main__":
    tag, _, wanted = sys.argv[1].partition("=")
    sys.exit(main(tag, wanted))
