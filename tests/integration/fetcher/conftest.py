from collections.abc import AsyncIterator

import pytest

from scrapejobs.adapters.fetcher import Fetcher
from tests.integration.fetching import fetcher_with
from tests.integration.raw_target import RawTarget, raw_target


@pytest.fixture
async def target() -> AsyncIterator[RawTarget]:
    async with raw_target() as running:
        yield running


@pytest.fixture
def fetcher() -> Fetcher:
    return fetcher_with()
