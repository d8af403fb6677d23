"""One page: hand it in, wait until it is there, download it. `submit_one.py URL`"""

import os
import sys

from scrapejobs_client import ApiError, Client


def main(url: str) -> int:
    with Client(os.environ["SCRAPEJOBS_URL"], os.environ["SCRAPEJOBS_KEY"]) as client:
        try:
            receipt = client.submit(url)
        except ApiError as error:
            print(f"refused: {error}")
            return 1
        job = client.wait(receipt.id)
        if not job.has_succeeded:
            print(f"{job.status}: {job.last_error}")
            return 1
        print(client.download(job.id))
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
