"""A gateway that knows keys: it asks Postgres once, and is never wrong for that."""

import time
from collections.abc import Iterator

import pytest
from pytest_django import DjangoAssertNumQueries

from scrapejobs.gateway.context import context
from scrapejobs.gateway.known_keys import KnownKeys
from scrapejobs.ops import hints
from scrapejobs.store.keys import parse_key, revoke_key
from scrapejobs.store.models import Tenant
from tests.integration.world import Client, call, make_client

pytestmark = [pytest.mark.req("FR-12"), pytest.mark.django_db]


@pytest.fixture
def client() -> Client:
    return make_client("acme")


@pytest.fixture(autouse=True)
def known() -> Iterator[KnownKeys]:
    """As in a gateway: in tests nothing is known otherwise."""
    keys = context().known_keys
    keys.keep_s = 10.0
    yield keys
    keys.keep_s = 0.0


@pytest.fixture
def no_valkey() -> Iterator[None]:
    limiter = context().limiter
    limiter._rest_until = time.monotonic() + 60.0
    yield
    limiter._rest_until = 0.0


def status(client: Client) -> int:
    return call("GET", "/jobs/00000000-0000-7000-8000-000000000000", key=client.key).status


def test_a_key_is_looked_up_once(client: Client, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for _ in range(2):  # the first request hears of the edition, and the second reads under it
        assert status(client) == 404
    with django_assert_num_queries(1):  # the job's own
        assert status(client) == 404


def test_a_revocation_holds_from_the_next_request_on(client: Client) -> None:
    for _ in range(3):
        assert status(client) == 404
    credential = parse_key(client.key)
    assert credential is not None
    revoke_key(credential.public_id)
    hints.keys_changed()
    assert status(client) == 401


def test_a_changed_limit_holds_from_the_next_request_on(client: Client) -> None:
    for _ in range(3):
        assert status(client) == 404
    Tenant.objects.filter(pk=client.tenant_id).update(rate=0.01, burst=1)
    hints.keys_changed()
    assert 429 in {status(client) for _ in range(3)}


def test_after_a_flush_of_valkey_keys_are_read_again(client: Client) -> None:
    for _ in range(3):
        assert status(client) == 404
    credential = parse_key(client.key)
    assert credential is not None
    revoke_key(credential.public_id)
    hints._limiter()._client.delete("scrapejobs:keys")  # and the news with it
    assert status(client) == 401


@pytest.mark.req("NFR-1")
def test_without_valkey_nothing_is_known(client: Client, request: pytest.FixtureRequest) -> None:
    for _ in range(3):
        assert status(client) == 404
    request.getfixturevalue("no_valkey")
    credential = parse_key(client.key)
    assert credential is not None
    revoke_key(credential.public_id)
    assert status(client) == 401


def test_a_known_key_with_another_secret_is_refused(client: Client) -> None:
    for _ in range(3):
        assert status(client) == 404
    assert call("GET", "/jobs", key=client.key[:-1] + ("a" if client.key[-1] != "a" else "b")).status == 401


def test_what_is_old_is_read_again() -> None:
    now = 0.0
    keys = KnownKeys(keep_s=10.0, clock=lambda: now)
    keys.keep("a", {"id": 1}, edition="e")
    assert keys.get("a") is not None
    now = 10.0
    assert keys.get("a") is None
    keys.keep("b", {"id": 1}, edition=None)
    assert keys.get("b") is None
