"""The metrics that code counts. What can be read from rows and leases is read at the scrape instead
(`ops/collector.py`), so that no crash makes it drift (case S18).

Every label is bounded: failure codes by the table of `domain.outcome` and the registered HTTP statuses, the others by
the code. Hosts and tenants are no labels.
"""

import os
from http import HTTPStatus
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from scrapejobs.domain.outcome import CODES

FIRST_ATTEMPT: Final = Histogram(
    "scrapejobs_first_attempt_seconds",
    "From a job's creation to the start of its first attempt.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600),
)
JOBS_SUBMITTED: Final = Counter("scrapejobs_jobs_submitted_total", "Jobs taken in, by queue.", ["queue"])
JOBS_SETTLED: Final = Counter("scrapejobs_jobs_settled_total", "Jobs that reached a final state, by state.", ["state"])
ATTEMPTS: Final = Counter(
    "scrapejobs_attempts_total",
    "Ended attempts, by class of outcome and by failure code (empty when there was no failure).",
    ["class", "code"],
)
DELIVERIES: Final = Counter("scrapejobs_deliveries_total", "Webhook calls, by outcome.", ["outcome"])
ENDPOINT_CHANGES: Final = Counter(
    "scrapejobs_endpoint_changes_total", "Webhook endpoints switched off, or on by a delivery.", ["change"]
)
JOB_READS: Final = Counter(
    "scrapejobs_job_reads_total", "Reads of single jobs, by where they were answered.", ["source"]
)
JOB_READ_AGE: Final = Histogram(
    "scrapejobs_job_read_age_seconds",
    "How old the answers out of the cache about jobs were.",
    buckets=(0.1, 0.5, 1, 2, 3, 10, 60, 3600, 86_400),
)
STALE_ANSWERS: Final = Counter(
    "scrapejobs_stale_answers_total",
    "Cached answers that were there when the ends of their jobs were told.",
)
STORE_FAILURES: Final = Counter(
    "scrapejobs_store_failures_total", "Tries to store a fetched answer that the object store did not take."
)
RESULT_MISSING: Final = Counter(
    "scrapejobs_result_missing_total", "Results of succeeded jobs that the object store did not have."
)
SECRETS_UNREADABLE: Final = Counter(
    "scrapejobs_secrets_unreadable_total", "Times that the secrets of a job could not be opened, by code.", ["code"]
)
CIRCUIT_CHANGES: Final = Counter(
    "scrapejobs_circuit_changes_total", "Circuits of hosts that opened or closed.", ["change"]
)
ORPHANS_REMOVED: Final = Counter(
    "scrapejobs_orphans_removed_total", "Objects removed that no job names and no attempt can name any more."
)
TICK: Final = Histogram(
    "scrapejobs_tick_seconds",
    "How long one pass of a loop took.",
    ["loop"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2, 10),
)
LOOP_ERRORS: Final = Counter("scrapejobs_loop_errors_total", "Passes of a loop that raised an error.", ["loop"])

_STATUS_CODES: Final = frozenset(f"http_{status.value}" for status in HTTPStatus)


def code_label(code: str | None) -> str:
    """A failure code as a label: a target that answers with every number there is gets one label for the odd ones."""
    if not code or code in CODES or code in _STATUS_CODES:
        return code or ""
    return "http_other" if code.startswith("http_") else "other"


def share_with_parent(directory: Path) -> None:
    """Lets processes started from here on write their metrics into `directory`, for `registry_for_parent` to read.

    Call it before the first child starts; what an earlier process left there is removed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob("*.db"):
        left.unlink()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)


def registry_for_parent(directory: Path) -> CollectorRegistry:
    """The metrics of all children that share `directory`; counters go on when a child is replaced."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))  # type: ignore[no-untyped-call]
    return registry
