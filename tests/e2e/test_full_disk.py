"""A worker whose disk is full: a fault of ours, which no job pays for."""

import resource
from pathlib import Path

import pytest

from tests.e2e.service import Role, Service
from tests.e2e.target import BIG, Target
from tests.e2e.waiting import wait_until

ROOM = 2 * 1024 * 1024
"""Bytes that a file of the worker may have: more than its log, less than the answer."""


def make_room(worker: Role, most: int) -> None:
    """How large a file of the process may grow; beyond it the kernel refuses a write as on a full disk."""
    resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def spools(worker: Role) -> list[str]:
    """The unnamed files that the process holds open."""
    files = [file.readlink() for file in Path(f"/proc/{worker.process.pid}/fd").iterdir() if file.is_symlink()]
    return [str(file) for file in files if "(deleted)" in str(file)]


@pytest.mark.req("NFR-7")
@pytest.mark.parametrize("service", [{"SCRAPEJOBS_RETRY_BASE_S": "1"}], indirect=True)
def test_an_answer_that_the_disk_cannot_take_is_not_charged_and_comes_again_while_others_are_served(
    service: Service, target: Target
) -> None:
    *_, worker = service.start_all()
    make_room(worker, ROOM)
    big = service.submit(target.url("/big/1", host=1), params={"max_bytes": 2 * BIG, "max_attempts": 1})
    failed = f"SELECT count(*) >= 2 FROM attempt WHERE job_id = '{big}' AND code = 'worker_error' AND NOT charged"  # noqa: S608
    wait_until(lambda: service.rows(failed) == [(True,)], what="two attempts on a full disk")
    other = service.submit(target.url("/page/1", host=2))
    assert service.wait_for(other, "succeeded", "failed")["status"] == "succeeded"
    assert service.rows(f"SELECT attempts FROM job WHERE id = '{big}'") == [(0,)]  # noqa: S608
    make_room(worker, resource.RLIM_INFINITY)
    job = service.wait_for(big, "succeeded", "failed")
    assert (job["status"], job["attempts"], job["result"]["size"]) == ("succeeded", 1, BIG)
    assert spools(worker) == []
    assert service.rows("SELECT bool_and(charged) FROM attempt WHERE outcome = 'stored'") == [(True,)]
