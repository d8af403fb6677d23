"""`manage.py simulate --replay`: what came in of late, lived through again with the limits of now."""

import io
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from scrapejobs.store.hosts import set_limits
from scrapejobs.store.models import Attempt, Job, Service
from tests.integration.world import Client, make_client, make_job

pytestmark = pytest.mark.django_db

HOST = "www.example.com"


@pytest.fixture
def acme(db: None) -> Client:
    return make_client("acme")


def replayed(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("simulate", "--replay", "1h", "--json", *arguments, stdout=out)
    return json.loads(out.getvalue())


def refused(*arguments: str) -> CommandError:
    with pytest.raises(CommandError) as caught:
        replayed(*arguments)
    return caught.value


def row(report: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    return next(row for row in report["rows"] if (row["kind"], row["name"]) == (kind, name))


def arrived(client: Client, state: str, *, ago_s: float, lasted_s: float = 0.0, **changes: Any) -> UUID:
    """A job that came in so long ago, its attempt of that length."""
    job_id = make_job(client, state, **changes)
    Job.objects.filter(id=job_id).update(created_at=Now() - timedelta(seconds=ago_s))
    Attempt.objects.filter(job_id=job_id).update(finished_at=F("started_at") + timedelta(seconds=lasted_s))
    return job_id


def tried_before(job_id: UUID, *, lasted_s: float) -> None:
    """An attempt before the one that is there."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO attempt (seq, job_id, number, worker, started_at, finished_at, outcome, charged, bytes,"
            " exchange) SELECT -seq, job_id, 0, worker, started_at, started_at + make_interval(secs => %s),"
            " 'temporary', true, 0, '{}' FROM attempt WHERE job_id = %s",
            [lasted_s, job_id],
        )


@pytest.mark.req("FR-12")
def test_a_replay_has_the_jobs_of_that_time_with_the_lengths_of_their_attempts(acme: Client):
    other = make_client("other")
    failed = arrived(acme, "failed", ago_s=1000, lasted_s=20)
    tried_before(failed, lasted_s=30)
    arrived(other, "succeeded", ago_s=999, lasted_s=5)
    arrived(other, "cancelled", ago_s=500)  # never started: it held no slot
    arrived(acme, "queued", ago_s=400, host="new.example")
    arrived(acme, "succeeded", ago_s=4000, lasted_s=5)  # before that time
    report = replayed("--slots", "1")
    assert report["jobs"] == 3
    first = row(report, "tenant", "acme")
    assert (first["arrived"], first["attempts"], first["failed"]) == (2, 3, 1)
    # The only slot is held for 30 seconds by the failed job's first attempt; the other one came a second later.
    assert row(report, "tenant", "other")["wait_max"] == pytest.approx(29, abs=0.5)
    # From the first arrival, 1,000 seconds ago, to the end of the last one, which takes a second for want of any other.
    assert report["seconds"] == pytest.approx(601, abs=0.5)


@pytest.mark.req("FR-11")
def test_a_replay_has_the_limits_of_now_or_others(acme: Client):
    for _ in range(4):
        arrived(acme, "succeeded", ago_s=100, lasted_s=1)
    set_limits(HOST, {"rate": None, "burst": None, "concurrency": 1})
    assert row(replayed("--slots", "9", "--host-rate", f"{HOST}=none"), "host", HOST)["most_running"] == 1
    set_limits(HOST, {"rate": None, "burst": 1, "concurrency": 4})
    assert row(replayed("--slots", "9", "--host-rate", f"{HOST}=none"), "host", HOST)["most_running"] == 4
    slow = row(replayed("--slots", "9", "--host-rate", f"{HOST}=0.1"), "host", HOST)
    assert slow["wait_max"] == pytest.approx(30, abs=0.5)


@pytest.mark.req("FR-12")
def test_a_replay_has_the_weights_of_now_or_others_and_the_slots_of_live_workers(acme: Client):
    other = make_client("other")
    arrived(acme, "succeeded", ago_s=100, lasted_s=1)
    assert "no worker is live" in str(refused())
    Service.objects.create(
        id=UUID(int=1),
        role="worker",
        name="w",
        hostname="h",
        pid=1,
        slots=7,
        draining=False,
        seen_at=Now(),
        started_at=Now(),
    )
    assert replayed()["slots"] == 7
    arrived(other, "succeeded", ago_s=100, lasted_s=1)
    even, uneven = replayed(), replayed("--weight", "acme=3")
    assert even["jain"] == 1
    assert uneven["jain"] == pytest.approx((1 / 3 + 1) ** 2 / (2 * (1 / 9 + 1)), abs=1e-6)


def test_what_cannot_be_replayed_is_told_in_a_line(acme: Client):
    assert "no job came in" in str(refused("--slots", "1"))
    arrived(acme, "succeeded", ago_s=100)
    assert "no tenant 'nobody'" in str(refused("--slots", "1", "--weight", "nobody=2"))
    assert "no host 'nowhere'" in str(refused("--slots", "1", "--host-rate", "nowhere=2"))
    assert refused("--slots", "1", "--weight", "nobody=2").returncode == 2


def test_a_replay_changes_nothing(acme: Client):
    job = arrived(acme, "queued", ago_s=10)
    before = Job.objects.filter(id=job).values().get()
    replayed("--slots", "1")
    assert Job.objects.filter(id=job).values().get() == before
