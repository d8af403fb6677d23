"""The spool that a body is received into."""

import hashlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapejobs.adapters.spool import MEMORY_BYTES, Spool, TooLarge


def open_files() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


@pytest.mark.req("FR-8")
@pytest.mark.parametrize("size", [0, 1, MEMORY_BYTES, MEMORY_BYTES + 1, 2 * MEMORY_BYTES + 7])
async def test_what_goes_in_comes_out_counted_and_hashed(size: int) -> None:
    data = os.urandom(size)
    spool = Spool(max_bytes=size)
    for at in range(0, size, 300_000):
        await spool.write(data[at : at + 300_000])
    with await spool.finish() as file:
        assert file.read() == data
    assert spool.size == size
    assert spool.sha256() == hashlib.sha256(data).hexdigest()


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file of this process may grow past 2 MiB: the kernel refuses a write as it does on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MEMORY_BYTES, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.req("NFR-7")
@pytest.mark.usefixtures("full_disk")
async def test_a_spool_on_a_full_disk_says_so_and_closes_in_silence() -> None:
    before = open_files()
    spool = Spool(max_bytes=10 * MEMORY_BYTES)
    for _ in range(2):
        await spool.write(os.urandom(MEMORY_BYTES))
    await spool.write(b"one too many")
    with pytest.raises(OSError, match="File too large"):
        await spool.finish()
    spool.close()
    assert open_files() <= before


@pytest.mark.case("target-8")
async def test_the_byte_past_the_cap_is_refused() -> None:
    spool = Spool(max_bytes=10)
    await spool.write(b"x" * 10)
    with pytest.raises(TooLarge):
        await spool.write(b"x")
    spool.close()
