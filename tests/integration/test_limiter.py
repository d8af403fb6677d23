"""Token buckets in Valkey: shared by all who count, and each for itself while it is away."""

import os
import socket
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from scrapejobs.adapters.limiter import Limit, Limiter
from tests.e2e.waiting import wait_until

SLOW = Limit(rate=0.01, burst=3.0)
pytestmark = [pytest.mark.req("FR-12"), pytest.mark.req("NFR-5")]


@pytest.fixture
def name() -> str:
    return uuid4().hex


@pytest.fixture
def limiter() -> Limiter:
    return Limiter(os.environ["REDIS_URL"], share=0.5)


@pytest.fixture
def hung() -> Iterator[Limiter]:
    """Of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Limiter(f"redis://127.0.0.1:{server.getsockname()[1]}/0", share=0.5)


@pytest.fixture
def away() -> Limiter:
    return Limiter("redis://127.0.0.1:1/0", share=0.5)


def taken(limiter: Limiter, name: str, limit: Limit, *, most: int = 100) -> int:
    """How many may come at once."""
    return next(n for n in range(most) if not limiter.take(name, limit).is_allowed)


def test_a_burst_goes_through_and_the_next_one_waits_for_a_token(limiter: Limiter, name: str) -> None:
    told = [limiter.take(name, SLOW) for _ in range(4)]
    assert [one.is_allowed for one in told] == [True, True, True, False]
    assert [one.remaining for one in told] == [2, 1, 0, 0]
    assert told[3].wait_s == pytest.approx(100.0, abs=5.0)


def test_gateways_share_a_bucket(limiter: Limiter, name: str) -> None:
    other = Limiter(os.environ["REDIS_URL"], share=0.5)
    assert limiter.take(name, SLOW).is_allowed
    assert other.take(name, SLOW).is_allowed
    assert limiter.take(name, SLOW).is_allowed
    assert not other.take(name, SLOW).is_allowed


def test_buckets_do_not_touch_each_other(limiter: Limiter, name: str) -> None:
    assert taken(limiter, name, SLOW) == 3
    assert limiter.take(name + "2", SLOW).is_allowed


def test_a_bucket_fills_with_its_rate(limiter: Limiter, name: str) -> None:
    quick = Limit(rate=20.0, burst=2.0)
    began, n = time.monotonic(), 0
    while time.monotonic() - began < 0.5:
        n += limiter.take(name, quick).is_allowed
    assert 2 <= n <= 2 + 20 * (time.monotonic() - began)
    wait_until(lambda: limiter.take(name, quick).is_allowed, what="a token to be there")


def test_what_is_owed_is_waited_for(limiter: Limiter, name: str) -> None:
    owing = limiter.take(name, SLOW, cost=10.0, owes=True)
    assert (owing.is_allowed, owing.remaining) == (True, 0)
    refused = limiter.take(name, SLOW)
    assert not refused.is_allowed
    assert refused.wait_s == pytest.approx(800.0, abs=5.0)  # 7 tokens short, and one for itself


def test_a_changed_limit_holds_from_the_next_request_on(limiter: Limiter, name: str) -> None:
    assert taken(limiter, name, SLOW) == 3
    wait_until(lambda: limiter.take(name, Limit(rate=1000.0, burst=3.0)).is_allowed, what="a token a millisecond later")


@pytest.mark.req("NFR-1")
@pytest.mark.parametrize("which", ["away", "hung"])
def test_without_valkey_a_process_grants_its_share_and_no_more(
    which: str, name: str, request: pytest.FixtureRequest
) -> None:
    limiter: Limiter = request.getfixturevalue(which)
    assert taken(limiter, name, Limit(rate=0.01, burst=8.0)) == 4
    assert taken(limiter, name + "2", Limit(rate=0.01, burst=1.0)) == 1  # never shut
