"""The spool that a body is received into."""

import hashlib
import os

import pytest

from scrapejobs.adapters.spool import MEMORY_BYTES, Spool, TooLarge


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


@pytest.mark.case("target-8")
async def test_the_byte_past_the_cap_is_refused() -> None:
    spool = Spool(max_bytes=10)
    await spool.write(b"x" * 10)
    with pytest.raises(TooLarge):
        await spool.write(b"x")
    spool.close()
