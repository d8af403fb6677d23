"""Hand in URLs, wait for them, fetch the results: the Python client of scrapejobs.

>>> from scrapejobs_client import Client
>>> with Client("http://127.0.0.1:8000", key) as client:
...     receipt = client.submit("https://example.com/")
...     job = client.wait(receipt.id)
...     file = client.download(job.id, "results")
"""

from scrapejobs_client.client import Client
from scrapejobs_client.errors import (
    ApiError,
    DownloadError,
    Mistake,
    Problem,
    ResumeError,
    ScrapeJobsError,
    UnreachableError,
    WaitTimeoutError,
    WebhookError,
)
from scrapejobs_client.shapes import Attempt, Finished, Job, Receipt, ResultLink, Submission
from scrapejobs_client.version import __version__
from scrapejobs_client.webhook import WebhookEvent, verify_webhook

__all__ = [
    "ApiError",
    "Attempt",
    "Client",
    "DownloadError",
    "Finished",
    "Job",
    "Mistake",
    "Problem",
    "Receipt",
    "ResultLink",
    "ResumeError",
    "ScrapeJobsError",
    "Submission",
    "UnreachableError",
    "WaitTimeoutError",
    "WebhookError",
    "WebhookEvent",
    "__version__",
    "verify_webhook",
]
