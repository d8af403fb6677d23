"""A failpoint ends the process that comes to it, and no other does."""

import signal
import subprocess
import sys

import pytest

from scrapejobs import failpoints

PASS = """
from scrapejobs import failpoints
failpoints.declare("place", "begin", "open")
failpoints.arm({point!r})
failpoints.reach("place", "begin")
print("past", flush=True)
"""


def passed(point: str | None) -> subprocess.CompletedProcess[str]:
    """A process that comes to `place:begin` with another point, this one or none armed."""
    return subprocess.run([sys.executable, "-c", PASS.format(point=point)], capture_output=True, text=True, check=False)


@pytest.mark.case("S7")
def test_a_process_dies_by_sigkill_at_the_point_that_is_armed_and_says_where() -> None:
    done = passed("place:begin")
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "")
    assert done.stderr == "killed at failpoint place:begin\n"


@pytest.mark.parametrize("point", [None, "place:open"])
def test_a_process_goes_past_points_that_are_not_armed(point: str | None) -> None:
    done = passed(point)
    assert (done.returncode, done.stdout, done.stderr) == (0, "past\n", "")


@pytest.mark.parametrize("point", ["place", "place:", "place:done", "", "place:begin=kill"])
def test_a_point_that_nothing_reaches_is_refused_with_those_that_there_are(point: str) -> None:
    failpoints.declare("place", "begin", "open")
    with pytest.raises(failpoints.UnknownFailpoint, match=r"place:begin, .*place:open|place:begin, place:open"):
        failpoints.arm(point)
