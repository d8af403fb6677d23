"""The commands for operators: what they change, what they print, how they fail."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import redis
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from scrapejobs.adapters.bus import WAKE
from scrapejobs.ops import console, doctor
from scrapejobs.store import dead_letters, keys
from scrapejobs.store.models import ApiKey, Circuit, Host, Job, Service, Tenant
from scrapejobs.store.run import run
from scrapejobs.store.services import standing
from scrapejobs.store.transitions import discard_all, requeue_all
from tests.e2e.waiting import wait_until
from tests.integration.world import PARAMS, Client, make_client, make_job, one

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parent.parent.parent
NOBODY = UUID("018f0000-0000-7000-8000-00000000000f")


@pytest.fixture
def acme(db: None) -> Client:
    return make_client("acme")


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def told(*arguments: str) -> Any:
    return json.loads(said(*arguments, "--json"))


def refused(*arguments: str) -> CommandError:
    with pytest.raises(CommandError) as caught:
        call_command(*arguments, stdout=io.StringIO(), stderr=io.StringIO())
    return caught.value


# ---- all of them


@pytest.mark.parametrize("arguments", [("run_role", "--help"), ("dead_letters", "list", "-h"), ()])
def test_help_is_given_where_nothing_is_set_and_nothing_runs(arguments: tuple[str, ...]):
    argv = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(
        argv, cwd=ROOT, env={"DATA_DIR": os.devnull}, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "manage.py" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("worker", "--surface", "all"), "gateway"),
        (("gateway", "--slots", "3"), "worker"),
        (("scheduler", "--slots", "3"), "worker"),
        (("worker", "--slots", "0"), "whole number"),
        (("worker", "--metrics-port", "65536"), "65535"),
    ],
)
def test_an_option_that_a_role_does_not_have_is_wrong_use(arguments: tuple[str, ...], told: str):
    assert told in str(refused("run_role", *arguments))


# ---- keys and tenants


@pytest.mark.req("FR-12")
def test_create_key_prints_a_key_that_works_and_nothing_else(acme: Client):
    credential = keys.parse_key(said("create_key", "--tenant", "acme").removesuffix("\n"))
    assert credential is not None
    row = ApiKey.objects.get(public_id=credential.public_id)
    assert (bytes(row.secret_sha256), row.tenant_id, row.scopes) == (
        credential.sha256,
        acme.tenant_id,
        ["read", "submit"],
    )


@pytest.mark.req("FR-12")
def test_a_key_may_be_for_reading_alone(acme: Client):
    key = keys.parse_key(said("create_key", "--tenant", "acme", "--scope", "read").strip())
    assert key is not None
    assert ApiKey.objects.get(public_id=key.public_id).scopes == ["read"]


@pytest.mark.req("FR-12")
def test_the_first_key_of_a_tenant_makes_the_tenant():
    credential = keys.parse_key(said("create_key", "--tenant", "newcomer").strip())
    assert credential is not None
    assert ApiKey.objects.get(public_id=credential.public_id).tenant.name == "newcomer"


@pytest.mark.req("FR-12")
def test_a_key_of_a_tenant_without_a_name_is_refused():
    assert refused("create_key", "--tenant", "").returncode == 1
    assert not Tenant.objects.filter(name="").exists()


@pytest.mark.req("FR-12")
def test_a_revoked_key_cannot_be_revoked_again(acme: Client):
    public_id = ApiKey.objects.get().public_id
    said("keys", "revoke", public_id)
    assert ApiKey.objects.get().revoked_at is not None
    assert refused("keys", "revoke", public_id).returncode == 1


@pytest.mark.req("NFR-12")
def test_the_list_of_keys_holds_no_secret(acme: Client):
    credential = keys.parse_key(acme.key)
    assert credential is not None
    shown = said("keys", "list") + said("keys", "list", "--json")
    assert credential.public_id in shown
    assert credential.secret not in shown


@pytest.mark.req("FR-12")
def test_a_tenant_is_added_changed_and_a_limit_taken_away():
    said("tenants", "add", "shop")
    assert said("tenants", "secret", "show", "shop").strip() == Tenant.objects.get(name="shop").webhook_secret
    said("tenants", "set", "shop", "--weight", "2", "--rate", "5", "--burst", "10", "--daily", "100")
    said("tenants", "set", "shop", "--max-running", "3", "--max-queued", "7", "--daily", "none")
    row = told("tenants", "list")[0]
    limits = ("weight", "rate", "burst", "daily", "max_running", "max_queued")
    assert [row[name] for name in limits] == [2, 5, 10, None, 3, 7]


@pytest.mark.req("FR-12")
@pytest.mark.parametrize(
    "limit", [("--weight", "0"), ("--weight", "nan"), ("--rate", "-1"), ("--burst", "0.5"), ("--daily", "1.5")]
)
def test_a_limit_that_means_nothing_is_wrong_use(acme: Client, limit: tuple[str, str]):
    assert limit[0] in str(refused("tenants", "set", "acme", *limit))
    assert Tenant.objects.get().rate is None


@pytest.mark.req("FR-12")
def test_the_same_tenant_is_not_added_twice(acme: Client):
    assert refused("tenants", "add", "acme").returncode == 1
    assert Tenant.objects.count() == 1


@pytest.mark.req("FR-12")
@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\x1b[31m", "a" * 101])
def test_a_name_that_cannot_be_read_is_refused(name: str):
    assert refused("tenants", "add", name).returncode == 1


# ---- hosts


@pytest.mark.req("FR-11")
@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("HTTP://Shop.Example.:8080", "shop.example"),
        ("https://shop.example/item/1", "shop.example"),
        ("*.Shop.Example", "*.shop.example"),
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("127.0.0.1:8081", "127.0.0.1"),
        ("2001:DB8::0:1", "2001:db8::1"),
    ],
)
def test_a_host_is_kept_under_the_name_that_its_jobs_have(written: str, kept: str):
    said("hosts", "set", written, "--rate", "2", "--concurrency", "3")
    assert list(Host.objects.values_list("name", "rate", "burst", "concurrency")) == [(kept, 2, None, 3)]


@pytest.mark.req("FR-11")
@pytest.mark.parametrize(
    "written", ["", "localhost", "a b.example", "*", "*.127.0.0.1", "shop.example:0", "user@a.example"]
)
def test_a_host_that_no_job_could_have_is_wrong_use(written: str):
    assert refused("hosts", "pause", written)
    assert not Host.objects.exists()


@pytest.mark.req("FR-11")
def test_a_pause_keeps_the_limits_and_resume_ends_it():
    said("hosts", "set", "shop.example", "--rate", "2")
    said("hosts", "pause", "shop.example")
    assert told("hosts", "list")[0]["pause_reason"] == "operator"
    said("hosts", "resume", "shop.example")
    assert (told("hosts", "list")[0]["paused_until"], Host.objects.get().rate) == (None, 2)


HOST_COLUMNS = "HOST RATE BURST CONCURRENCY PAUSED UNTIL REASON CIRCUIT OPEN UNTIL AFTER LEARNED SHARE"


@pytest.mark.req("FR-11")
def test_hosts_are_listed_as_a_table_with_a_line_for_each():
    said("hosts", "set", "a.example", "--rate", "2")
    said("hosts", "pause", "b.example")
    assert [line.split() for line in said("hosts", "list").splitlines()] == [
        HOST_COLUMNS.split(),
        ["a.example", "2", "-", "-", "-", "-", "-", "-", "-"],
        ["b.example", "-", "-", "-", "until", "resumed", "operator", "-", "-", "-"],
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("hosts", "pause", "a.example", "--for"),
        ("hosts", "set", "a.example", "--rate"),
        ("hosts", "set", "a.example", "--burst"),
        ("hosts", "set", "a.example", "--concurrency"),
        ("tenants", "set", "acme", "--weight"),
        ("tenants", "set", "acme", "--max-queued"),
        ("dead_letters", "list", "--limit"),
    ],
)
@pytest.mark.parametrize("beyond", ["2147483648", "10000000000000000000000"])
def test_a_number_beyond_what_a_column_holds_is_wrong_use(acme: Client, arguments: tuple[str, ...], beyond: str):
    assert "2147483647" in str(refused(*arguments, beyond))
    assert not Host.objects.exists()


@pytest.mark.req("FR-11")
def test_a_pause_for_a_time_ends_by_itself():
    said("hosts", "pause", "shop.example", "--for", "90")
    assert 89 < one("SELECT extract(epoch FROM paused_until - clock_timestamp()) FROM host") <= 90
    Host.objects.update(paused_until="2020-01-01T00:00:00Z")
    assert told("hosts", "list")[0]["paused_until"] is None


@pytest.mark.req("FR-11")
def test_an_open_circuit_is_listed_with_its_reason_and_reset_and_a_pause_stays():
    Host.objects.create(name="b.example", paused_until="2999-01-01T00:00:00Z", pause_reason="operator")
    for name in ("a.example", "b.example"):
        Circuit.objects.create(
            host=name, failures=0, successes=0, retry_at="2999-01-01T00:00:00Z", reason="http_503", changed_at=Now()
        )
    shown = [(row["name"], row["circuit_open_until"], row["circuit_reason"]) for row in told("hosts", "list")]
    assert shown == [(name, "2999-01-01T00:00:00Z", "http_503") for name in ("a.example", "b.example")]
    assert "a.example is closed" in said("hosts", "reset-circuit", "a.example")
    assert "b.example is closed" in said("hosts", "reset-circuit", "b.example")
    assert "was not open" in said("hosts", "reset-circuit", "b.example")
    assert [(row["name"], row["pause_reason"], row["circuit_reason"]) for row in told("hosts", "list")] == [
        ("b.example", "operator", None)
    ]


@pytest.mark.req("FR-11")
@pytest.mark.parametrize(
    ("command", "topic"),
    [
        (("hosts", "set", "shop.example", "--rate", "1"), b"limits"),
        (("hosts", "pause", "shop.example"), b"limits"),
        (("hosts", "resume", "shop.example"), b"limits"),
        (("tenants", "set", "acme", "--weight", "2"), b"limits"),
        (("dead_letters", "requeue", "--all"), b"submitted"),
    ],
)
def test_the_loops_are_told_of_a_change(acme: Client, redis_url: str, command: tuple[str, ...], topic: bytes):
    make_job(acme, "failed")
    with redis.Redis.from_url(redis_url) as client, client.pubsub() as pubsub:
        pubsub.subscribe(WAKE)
        assert pubsub.get_message(timeout=5.0)["type"] == "subscribe"
        said(*command)
        wait_until(  # other tests speak to the same server
            lambda: (pubsub.get_message(timeout=0.1) or {}).get("data") == topic, what=f"the wake-up {topic!r}"
        )


@pytest.mark.req("FR-11")
def test_setting_nothing_is_wrong_use():
    assert refused("hosts", "set", "shop.example").returncode == 2


# ---- dead letters


@pytest.mark.req("FR-10")
def test_dead_letters_are_found_since_a_time_of_any_offset(acme: Client):
    make_job(acme, "failed")
    assert len(told("dead_letters", "list", "--since", "2000-01-01T00:00:00+23:59")) == 1
    assert "is not a time" in str(refused("dead_letters", "list", "--since", "0001-01-01T00:00:00+00:01"))


@pytest.mark.req("FR-10")
def test_dead_letters_are_grouped_by_host_class_and_code(acme: Client):
    for host in ("a.example", "a.example", "b.example"):
        make_job(acme, "failed", host=host)
    make_job(acme, "queued", host="a.example")
    groups = told("dead_letters", "list")
    assert [(g["host"], g["class"], g["code"], g["jobs"]) for g in groups] == [
        ("a.example", "permanent", "http_401", 2),
        ("b.example", "permanent", "http_401", 1),
    ]
    assert groups[0]["first_at"] < groups[0]["last_at"]


@pytest.mark.req("FR-10")
@pytest.mark.parametrize(
    ("filters", "n_requeued"),
    [
        (("--host", "A.example"), 1),
        (("--tenant", "other"), 1),
        (("--code", "http_401"), 3),
        (("--class", "temporary"), 0),
        (("--since", "2020-01-01"), 3),
        (("--since", "2999-01-01T00:00:00Z"), 0),
        (("--limit", "2"), 2),
        (("--all",), 3),
    ],
)
def test_filters_choose_what_is_requeued(acme: Client, filters: tuple[str, ...], n_requeued: int):
    for client, host in ((acme, "a.example"), (acme, "b.example"), (make_client("other"), "c.example")):
        make_job(client, "failed", host=host)
    assert said("dead_letters", "requeue", *filters) == f"{n_requeued} requeued\n"
    assert Job.objects.filter(final_state=None, published_at=None, attempts=0).count() == n_requeued


@pytest.mark.req("FR-10")
def test_discard_leaves_the_jobs_failed_and_empties_the_backlog(acme: Client):
    make_job(acme, "failed")
    assert said("dead_letters", "discard", "--all") == "1 discarded\n"
    assert Job.objects.get().final_state == "failed"
    assert told("dead_letters", "list") == []


@pytest.mark.req("FR-10")
@pytest.mark.parametrize("state", ["queued", "running", "succeeded", "cancelled"])
def test_what_is_no_dead_letter_is_left_alone_and_said(acme: Client, state: str):
    job = make_job(acme, state)
    before = Job.objects.filter(pk=job).values().get()
    for action in ("requeue", "discard"):
        assert str(job) in str(refused("dead_letters", action, str(job)))
    assert Job.objects.filter(pk=job).values().get() == before


@pytest.mark.req("FR-10")
@pytest.mark.parametrize("which", [(), (str(NOBODY), "--all"), ("--all", "--host", "a.example")])
def test_what_is_meant_must_be_said_once(acme: Client, which: tuple[str, ...]):
    job = make_job(acme, "failed")
    assert refused("dead_letters", "requeue", *which).returncode == 2
    assert Job.objects.get(pk=job).final_state == "failed"


@pytest.mark.req("FR-10")
def test_a_stopped_run_keeps_what_it_did_and_the_next_goes_on(acme: Client):
    jobs = [make_job(acme, "failed") for _ in range(5)]
    first = dead_letters.act_in_batches(dead_letters.Filter(), requeue_all, batch_size=2)
    assert next(first) == 2
    first.close()
    assert Job.objects.filter(final_state=None).count() == 2
    assert list(dead_letters.act_in_batches(dead_letters.Filter(), requeue_all, batch_size=2)) == [2, 1]
    assert Job.objects.filter(pk__in=jobs, final_state=None).count() == 5


@pytest.mark.req("FR-10")
def test_what_fails_again_meanwhile_is_not_taken_twice(acme: Client):
    make_job(acme, "failed")
    rounds = dead_letters.act_in_batches(dead_letters.Filter(), discard_all)
    assert next(rounds) == 1
    make_job(acme, "failed")
    assert list(rounds) == []


@pytest.mark.req("FR-7")
@pytest.mark.req("NFR-12")
def test_show_tells_the_history_of_a_job_without_its_secrets(acme: Client):
    secret = "s3cr3t-planted-here"
    params = PARAMS | {"headers": {"X-Api-Key": secret}, "query": {"t": secret}, "body": secret}
    job = make_job(acme, "failed", params=params, url=f"https://www.example.com/?k={secret}")
    shown = told("dead_letters", "show", str(job))
    assert [(a["number"], a["code"], a["target_status"]) for a in shown["attempts_made"]] == [(1, "http_401", 401)]
    assert shown["params"]["headers"] == {"X-Api-Key": "***"}
    assert secret not in json.dumps(shown) + said("dead_letters", "show", str(job))


# ---- looking


@pytest.mark.req("FR-13")
def test_workers_are_live_draining_silent_or_unannounced(acme: Client):
    moments = {"seen_at": "2999-01-01T00:00:00Z", "started_at": "2026-01-01T00:00:00Z"}
    common = {"role": "worker", "hostname": "here", "pid": 1, "slots": 20, "draining": False} | moments
    for n, changes in enumerate(({}, {"draining": True}, {"seen_at": "2020-01-01T00:00:00Z"})):
        Service.objects.create(**common | {"id": UUID(int=n), "name": f"w{n}"} | changes)
    Service.objects.create(**common | {"id": UUID(int=9), "name": "s", "role": "scheduler"})
    make_job(acme, "running")
    states = {row["name"]: (row["state"], row["running"]) for row in told("workers")}
    assert states == {
        "w0": ("live", 0),
        "w1": ("draining", 0),
        "w2": ("silent", 0),
        "worker-1": ("unannounced", 1),
    }
    assert {row["role"] for row in told("workers", "--all")} == {"worker", "scheduler"}
    assert len(run(standing())) == 5


@pytest.mark.req("FR-13")
def test_the_doctor_finds_the_servers_well_and_says_which_roles_to_start():
    from django.conf import settings

    findings = {finding.what: finding for finding in doctor.examine(settings.CONFIG)}
    for what in ("settings", "database", "clock", "tables", "partitions", "valkey", "object store", "leases"):
        assert not findings[what].is_wrong, findings[what]
    for role in ("publisher", "scheduler", "worker", "courier"):
        assert f"run_role {role}" in findings[role].advice
    assert refused("doctor").returncode == 1


@pytest.mark.req("FR-13")
def test_the_doctor_asks_no_proxy_of_the_shell(monkeypatch: pytest.MonkeyPatch):
    from django.conf import settings

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    findings = {finding.what: finding for finding in doctor.examine(settings.CONFIG)}
    assert not findings["object store"].is_wrong, findings["object store"]


@pytest.mark.req("FR-13")
def test_the_doctor_says_what_to_do_about_each_server_that_is_gone():
    from django.conf import settings

    gone = settings.CONFIG.model_copy(
        update={"redis_url": _secret("redis://:hush@127.0.0.1:1/0"), "s3_endpoint_url": "http://127.0.0.1:1"}
    )
    findings = {finding.what: finding for finding in doctor.examine(gone)}
    assert findings["valkey"].advice
    assert findings["object store"].advice
    assert not [finding for finding in findings.values() if "hush" in finding.found + finding.advice]


def _secret(text: str) -> Any:
    from pydantic import SecretStr

    return SecretStr(text)


@pytest.mark.req("NFR-12")
def test_a_cell_cannot_steer_a_terminal():
    assert console.cell("a\x1b[31mb\nc\u202e") == "a\ufffd[31mb\ufffdc\ufffd"
