"""What goes wrong on a worker's machine: its disk is full, its clock is wrong."""

import contextlib
import resource
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Final

from tests.chaos.fault import Fault, Layout
from tests.chaos.nemesis import Wrong, strike
from tests.chaos.role_faults import nothing
from tests.chaos.world import World

ROOM_BYTES: Final = 2 * 1024 * 1024  # more than a worker's log, less than a big page
HOUR_S: Final = 3600
COMPILER: Final = shutil.which("cc")


@contextlib.contextmanager
def full_disk(world: World, rng: Random) -> Iterator[None]:
    """No file of one worker may grow beyond a size: the kernel refuses the write, as on a full disk."""
    pid = world.supervisor.role(rng.choice(world.supervisor.labels("worker"))).process.pid
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (ROOM_BYTES, resource.RLIM_INFINITY))
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextlib.contextmanager
def shifted_clocks(world: World) -> Iterator[Mapping[str, str]]:
    """Processes with a `CLOCK_SHIFT_S` have a wall clock that is so much ahead."""
    assert COMPILER is not None
    library = world.directory / "shifted_clock.so"
    source = Path(__file__).with_name("shifted_clock.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    yield {"LD_PRELOAD": str(library)}


FULL_DISK: Final = Fault(
    "full-disk",
    "the disk of one worker after the other is full",
    strike({"full-disk": Wrong(full_disk, "disk", (1.0, 4.0))}),
    shapes={"big": 25, "page": 60, "slow": 15},
    loses_no_attempt=True,
)
CLOCKS: Final = Fault(
    "clocks-apart",
    "the clock of one worker is an hour ahead and that of the other an hour behind",
    nothing,
    layout=Layout(
        between=shifted_clocks,
        by_label={"worker-0": {"CLOCK_SHIFT_S": str(HOUR_S)}, "worker-1": {"CLOCK_SHIFT_S": str(-HOUR_S)}},
    ),
    loses_no_attempt=True,
)
FAULTS: Final = (FULL_DISK, *([CLOCKS] if COMPILER else []))
LEFT_OUT: Final[Mapping[str, str]] = (
    {} if COMPILER else {CLOCKS.name: "there is no C compiler (cc) to make a shifted clock with"}
)
