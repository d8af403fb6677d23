"""`manage.py secrets`: what is sealed gets another key, and what never was is sealed (NFR-12)."""

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from pydantic import SecretStr

from scrapejobs.store import transitions, upkeep
from scrapejobs.store.ids import new_id
from scrapejobs.store.models import Delivery, Job
from scrapejobs.store.run import run
from scrapejobs.store.sealing import Ring, keep_callback, keep_request, open_callback, open_request
from tests.integration.test_commands import refused, said
from tests.integration.world import PARAMS, Client, make_client, make_job

pytestmark = pytest.mark.req("NFR-12")

OLD, NEW = "old-0123456789-0123456789-0123456789", "new-0123456789-0123456789-0123456789"
URL, CALLBACK = "https://www.example.com/?key=canary", "https://me.example/canary"
SECRET: dict[str, Any] = PARAMS | {"headers": {"Cookie": "canary", "Accept": "a"}, "body": "canary", "method": "POST"}


@pytest.fixture
def acme(committed: None) -> Client:
    return make_client("acme")


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the sealing keys of the command."""

    def use(*texts: str) -> None:
        config = settings.CONFIG.model_copy(update={"sealing_keys": tuple(map(SecretStr, texts))})
        monkeypatch.setattr(settings, "CONFIG", config)

    return use


def sealed(client: Client, state: str = "queued", *, key: str = OLD) -> UUID:
    job_id, ring = new_id(), Ring([key])
    kept = keep_request(ring, URL, SECRET, job_id=job_id)
    callback, callback_sealed = keep_callback(ring, CALLBACK, job_id=job_id)
    columns = {"url": kept.url, "params": kept.params, "sealed": kept.sealed}
    callbacks = {"callback_url": callback, "callback_sealed": callback_sealed}
    return make_job(client, state, id_=job_id, **columns, **callbacks)


def plain(client: Client, state: str = "queued") -> UUID:
    """A job as versions wrote it that sealed nothing."""
    return make_job(client, state, url=URL, params=SECRET, callback_url=CALLBACK)


def opens(job_id: UUID, key: str) -> None:
    """With this key alone all of the job's secrets can be read, and without one nothing of them."""
    job, ring = Job.objects.get(pk=job_id), Ring([key])
    assert "canary" not in json.dumps([job.url, job.params, job.callback_url])
    row = open_request(ring, {"job_id": job.pk, "url": job.url, "params": job.params, "sealed": job.sealed})
    assert (row["url"], row["params"]) == (URL, SECRET)
    assert open_callback(ring, {"job_id": job.pk, "url": job.callback_url, "sealed": job.callback_sealed}) == CALLBACK


def test_a_rotation_seals_with_the_first_key_what_another_or_none_had_sealed(acme: Client, keys: Any) -> None:
    jobs = [sealed(acme), sealed(acme, "failed"), plain(acme), sealed(acme, key=NEW)]
    harmless = make_job(acme, params=PARAMS | {"headers": {"Accept": "text/html"}})
    keys(NEW, OLD)
    assert said("secrets", "rotate").splitlines()[-1].endswith(" sealed with the first key")
    for job_id in jobs:
        opens(job_id, NEW)
    assert Job.objects.get(pk=harmless).sealed is None
    keys(NEW)
    assert said("secrets", "rotate") == "0 sealed with the first key\n"


def test_of_what_can_no_longer_run_the_secrets_are_gone_and_not_sealed(acme: Client, keys: Any) -> None:
    over = [plain(acme, "succeeded"), plain(acme, "cancelled")]
    keys(NEW)
    said("secrets", "rotate")
    for job in Job.objects.filter(pk__in=over):
        assert "canary" not in json.dumps([job.url, job.params, job.callback_url])
        assert bytes(job.sealed) == b""


def test_deliveries_are_rotated_too(acme: Client, keys: Any) -> None:
    sealed(acme, "cancelled")
    plain(acme, "cancelled")
    run(upkeep.finish([new_id(), new_id()]))
    keys(NEW, OLD)
    said("secrets", "rotate")
    for row in Delivery.objects.values("job_id", "url", "sealed"):
        assert row["url"] == "https://me.example/***"
        assert open_callback(Ring([NEW]), row) == CALLBACK


def test_a_row_that_somebody_holds_is_skipped_and_told_and_the_next_run_takes_it(
    acme: Client, keys: Any, database_url: str
) -> None:
    held, free = sealed(acme), sealed(acme)
    keys(NEW, OLD)
    with psycopg.connect(database_url) as other:
        other.execute("SELECT FROM job WHERE id = %s FOR UPDATE", [held])
        assert "held by somebody" in str(refused("secrets", "rotate"))
        opens(free, NEW)
    said("secrets", "rotate")
    opens(held, NEW)


def test_what_no_key_opens_is_left_as_it_is_and_told(acme: Client, keys: Any) -> None:
    job_id = sealed(acme)
    keys(NEW)
    assert "cannot be read" in str(refused("secrets", "rotate"))
    opens(job_id, OLD)
    assert "lacks" in str(refused("secrets", "status"))
    keys(NEW, OLD)
    rows = json.loads(said("secrets", "status", "--json"))
    assert [(row["what"], row["n"], row["standing"]) for row in rows] == [
        ("callback URLs", 1, "to be rotated"),
        ("requests", 1, "to be rotated"),
    ]


def test_without_any_key_the_command_says_how_to_make_one(acme: Client, keys: Any) -> None:
    keys()
    assert "Make one" in str(refused("secrets", "status"))


@pytest.mark.parametrize("role", ["gateway", "worker", "courier"])
def test_a_role_that_handles_secrets_does_not_start_without_a_key(acme: Client, keys: Any, role: str) -> None:
    keys()
    assert "SCRAPEJOBS_SEALING_KEYS is not set" in str(refused("run_role", role))


def test_a_job_in_the_middle_of_a_rotation_runs_with_either_key(acme: Client, keys: Any) -> None:
    job_id = sealed(acme)
    before = Job.objects.values("url", "params", "sealed").get(pk=job_id) | {"job_id": job_id}
    keys(NEW, OLD)
    said("secrets", "rotate")
    assert open_request(Ring([NEW, OLD]), before)["url"] == URL
    assert run(transitions.cancel(job_id, tenant_id=acme.tenant_id)).cancelled
    assert bytes(Job.objects.get(pk=job_id).sealed) == b""
