"""The operator's admin: what it shows, what it must never show, and what its actions do."""

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from scrapejobs.domain.outcome import Exchange, failure
from scrapejobs.store import keys, opt_outs
from scrapejobs.store.models import ApiKey, Host, Job, OptOut, Tenant
from scrapejobs.store.run import run
from tests.integration.world import PARAMS, Client, call, end, make_client, make_job, one, start

SECRET = "s3cr3t-planted-here"
MARKUP = "<script>alert(1)</script>"
PAGES = ("job", "deadletter", "tenant", "apikey", "host", "optout", "service", "delivery", "endpoint")


@pytest.fixture
def acme(db: None) -> Client:
    return make_client("acme")


@pytest.fixture
def browser(acme: Client) -> Browser:
    """An operator who is logged in."""
    browser = Browser(HTTP_HOST="127.0.0.1")
    browser.force_login(User.objects.create_superuser("operator"))
    return browser


def page(browser: Browser, path: str) -> str:
    answer = browser.get(f"/admin/store/{path}")
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.content.decode()


def act(browser: Browser, model: str, action: str, *ids: object) -> None:
    answer = browser.post(f"/admin/store/{model}/", {"action": action, "_selected_action": [str(id_) for id_ in ids]})
    assert answer.status_code == 302, answer.status_code


def status(job_id: UUID) -> tuple[str | None, bool, bool]:
    job = Job.objects.get(pk=job_id)
    return job.final_state, job.published_at is not None, job.discarded_at is not None


def secretive(client: Client, state: str) -> UUID:
    """A job with a secret wherever a client can put one."""
    params = PARAMS | {
        "method": "POST",
        "headers": {"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET},
        "query": {"token": SECRET},
        "body": SECRET,
        "json": {"password": SECRET},
    }
    return make_job(
        client,
        state,
        url=f"https://www.example.com/?key={SECRET}",
        params=params,
        callback_url=f"https://hooks.example.com/?token={SECRET}",
    )


@pytest.mark.req("FR-10")
@pytest.mark.parametrize("model", PAGES)
def test_every_list_opens(browser: Browser, acme: Client, model: str):
    make_job(acme, "failed")
    page(browser, f"{model}/")


@pytest.mark.req("FR-12")
@pytest.mark.parametrize("model", ["tenant", "apikey", "host", "optout"])
def test_every_form_for_a_new_row_opens(browser: Browser, model: str):
    page(browser, f"{model}/add/")


@pytest.mark.req("NFR-12")
def test_nobody_sees_a_page_without_logging_in(acme: Client):
    answer = Browser(HTTP_HOST="127.0.0.1").get("/admin/store/job/")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")


@pytest.mark.req("NFR-12")
@pytest.mark.parametrize("model", PAGES)
@pytest.mark.parametrize("key", ["%00", "a%00b", "x", "%ff", "99999999999999999999999"])
def test_a_page_of_no_row_is_no_failure_of_ours(browser: Browser, model: str, key: str):
    assert browser.get(f"/admin/store/{model}/{key}/change/").status_code in (302, 404)


@pytest.mark.req("FR-7")
def test_a_job_is_shown_with_its_attempts(browser: Browser, acme: Client):
    shown = page(browser, f"job/{make_job(acme, 'failed')}/change/")
    assert "http_401" in shown
    assert "worker-1" in shown


@pytest.mark.req("NFR-12")
@pytest.mark.parametrize("state", ["unpublished", "queued", "running", "failed", "succeeded", "delayed"])
def test_no_secret_of_a_job_is_on_any_page(browser: Browser, acme: Client, state: str):
    job = secretive(acme, state)
    pages = [page(browser, f"{model}/") for model in PAGES] + [page(browser, f"job/{job}/change/")]
    pages += [page(browser, f"job/{job}/history/"), page(browser, f"job/?q={job}")]
    pages += [page(browser, f"deadletter/{job}/change/")] if state == "failed" else []
    assert not [text for text in pages if SECRET in text]


@pytest.mark.req("NFR-12")
def test_names_of_headers_are_shown_and_values_masked(browser: Browser, acme: Client):
    shown = page(browser, f"job/{secretive(acme, 'queued')}/change/")
    assert "X-Api-Key" in shown
    assert "***" in shown


@pytest.mark.req("NFR-12")
def test_no_key_hash_and_no_webhook_secret_is_on_any_page(browser: Browser, acme: Client):
    tenant = Tenant.objects.get(name="acme")
    key = ApiKey.objects.get(tenant=tenant)
    secrets = [tenant.webhook_secret, bytes(key.secret_sha256).hex(), acme.key]
    paths = ["tenant/", "apikey/", f"tenant/{tenant.pk}/change/", f"apikey/{key.pk}/change/"]
    assert not [(path, s) for path in paths for s in secrets if s in page(browser, path)]


@pytest.mark.req("NFR-12")
@pytest.mark.parametrize(
    "path",
    [
        "job/?params__headers__Authorization__startswith=Bearer",
        "job/?url__contains=key",
        "deadletter/?params__body__startswith=s",
        "tenant/?webhook_secret__startswith=whsec_",
        "apikey/?tenant__webhook_secret__startswith=whsec_",
        "apikey/?secret_sha256=00",
    ],
)
def test_a_secret_cannot_be_guessed_by_filtering(browser: Browser, acme: Client, path: str):
    secretive(acme, "failed")
    assert browser.get(f"/admin/store/{path}").status_code == 400


@pytest.mark.req("FR-10")
@pytest.mark.parametrize(
    "changes",
    [
        {"url": f"https://www.example.com/{MARKUP}"},
        {"host": MARKUP},
        {"tags": {"run": MARKUP, MARKUP: "x"}},
        {"callback_url": f"https://hooks.example.com/{MARKUP}"},
        {"params": PARAMS | {"headers": {MARKUP: MARKUP}}},
    ],
)
def test_markup_in_a_job_is_escaped(browser: Browser, acme: Client, changes: dict[str, Any]):
    job = make_job(acme, "failed", **changes)
    Job.objects.filter(pk=job).update(error_detail=MARKUP)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE attempt SET detail = %s, worker = %s", [MARKUP, MARKUP])
    for path in ("job/", "deadletter/", f"job/{job}/change/", f"deadletter/{job}/change/"):
        assert MARKUP not in page(browser, path), path
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page(browser, f"job/{job}/change/")


@pytest.mark.req("FR-10")
def test_dead_letters_are_shown_by_incident(browser: Browser, acme: Client):
    for host in ("a.example", "a.example", "b.example"):
        make_job(acme, "failed", host=host)
    answer = browser.get("/admin/store/deadletter/")
    assert [(g["host"], g["code"], g["jobs"]) for g in answer.context["groups"]] == [
        ("a.example", "http_401", 2),
        ("b.example", "http_401", 1),
    ]


@pytest.mark.req("FR-10")
def test_the_link_of_an_incident_narrows_the_list_to_it(browser: Browser, acme: Client):
    jobs = [make_job(acme, "failed", host=host) for host in ("a.example", "b.example")]
    query = browser.get("/admin/store/deadletter/").context["groups"][0]["query"]
    found = browser.get(f"/admin/store/deadletter/?{query}").context["cl"].result_list
    assert [letter.pk for letter in found] in ([jobs[0]], [jobs[1]])


@pytest.mark.req("FR-10")
def test_chosen_dead_letters_are_requeued_and_others_stay(browser: Browser, acme: Client):
    one_, other = make_job(acme, "failed"), make_job(acme, "failed")
    act(browser, "deadletter", "requeue", one_)
    assert status(one_) == (None, False, False)
    assert status(other) == ("failed", True, False)


@pytest.mark.req("FR-10")
def test_a_discarded_dead_letter_leaves_the_list_and_stays_failed(browser: Browser, acme: Client):
    job = make_job(acme, "failed")
    act(browser, "deadletter", "discard", job)
    assert status(job) == ("failed", True, True)
    assert str(job) not in page(browser, "deadletter/")


@pytest.mark.req("FR-5")
@pytest.mark.parametrize("state", ["unpublished", "queued", "running", "delayed"])
def test_an_unfinished_job_is_cancelled(browser: Browser, acme: Client, state: str):
    job = make_job(acme, state)
    act(browser, "job", "cancel_jobs", job)
    assert status(job)[0] == "cancelled"


@pytest.mark.req("FR-10")
def test_what_was_done_is_written_down_with_who_did_it(browser: Browser, acme: Client):
    job = make_job(acme, "failed")
    act(browser, "deadletter", "requeue", job)
    shown = page(browser, f"job/{job}/history/") + page(browser, "job/")
    assert one("SELECT change_message FROM django_admin_log WHERE object_id = %s", str(job)) == "requeued"
    assert "operator" in shown


@pytest.mark.req("FR-10")
def test_no_job_is_added_edited_or_deleted_by_hand(browser: Browser, acme: Client):
    job = make_job(acme, "failed")
    assert browser.get("/admin/store/job/add/").status_code == 403
    assert browser.post(f"/admin/store/job/{job}/change/", {"final_state": ""}).status_code == 403
    assert browser.post(f"/admin/store/job/{job}/delete/", {"post": "yes"}).status_code == 403
    assert status(job) == ("failed", True, False)


@pytest.mark.req("FR-10")
def test_who_may_only_look_cannot_act(acme: Client):
    from django.contrib.auth.models import Permission

    looker = User.objects.create_user("looker", is_staff=True)
    looker.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    browser = Browser(HTTP_HOST="127.0.0.1")
    browser.force_login(looker)
    job = make_job(acme, "failed")
    browser.post("/admin/store/deadletter/", {"action": "requeue", "_selected_action": [str(job)]})
    assert status(job) == ("failed", True, False)


@pytest.mark.req("FR-10")
def test_an_action_needs_the_forms_token(acme: Client):
    browser = Browser(enforce_csrf_checks=True, HTTP_HOST="127.0.0.1")
    browser.force_login(User.objects.create_superuser("operator"))
    job = make_job(acme, "failed")
    answer = browser.post("/admin/store/deadletter/", {"action": "requeue", "_selected_action": [str(job)]})
    assert answer.status_code == 403
    assert status(job) == ("failed", True, False)


@pytest.mark.req("NFR-8")
@pytest.mark.parametrize("query", ["", "?tenant=acme", "?tenant=acme&status=failed", "?status=running", "?p=3"])
def test_the_job_list_counts_nothing(browser: Browser, acme: Client, query: str):
    make_job(acme, "failed")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        page(browser, f"job/{query}")
    counts = [q["sql"] for q in queries if "COUNT(" in q["sql"] and 'FROM "job"' in q["sql"]]
    assert counts == []


@pytest.mark.req("FR-6")
@pytest.mark.parametrize("state", ["queued", "running", "succeeded", "failed", "cancelled"])
def test_the_status_filter_finds_the_jobs_of_that_status(browser: Browser, acme: Client, state: str):
    jobs = {state: make_job(acme, state) for state in ("queued", "running", "succeeded", "failed", "cancelled")}
    found = browser.get(f"/admin/store/job/?tenant=acme&status={state}").context["cl"].result_list
    assert [job.pk for job in found] == [jobs[state]]


@pytest.mark.req("FR-12")
def test_a_new_key_is_shown_once_and_works(browser: Browser, acme: Client):
    tenant = Tenant.objects.get(name="acme")
    answer = browser.post("/admin/store/apikey/add/", {"tenant": tenant.pk, "scopes": ["read"]})
    assert "no-store" in answer["Cache-Control"]
    key = answer.content.decode().partition('<code id="key">')[2].partition("<")[0]
    credential = keys.parse_key(key)
    assert credential is not None
    row = ApiKey.objects.get(public_id=credential.public_id)
    assert (bytes(row.secret_sha256), row.scopes) == (credential.sha256, ["read"])
    later = [page(browser, path) for path in ("apikey/", f"apikey/{row.pk}/change/", f"apikey/{row.pk}/history/")]
    assert not [text for text in later if credential.secret in text]
    assert credential.secret not in str(browser.cookies)


@pytest.mark.req("FR-12")
def test_a_revoked_key_stays_revoked(browser: Browser, acme: Client):
    key = ApiKey.objects.get(tenant_id=acme.tenant_id)
    act(browser, "apikey", "revoke", key.pk)
    key.refresh_from_db()
    assert key.revoked_at is not None


@pytest.mark.req("FR-12")
def test_a_tenant_added_here_has_a_webhook_secret(browser: Browser):
    answer = browser.post("/admin/store/tenant/add/", {"name": "new", "weight": "2"})
    assert answer.status_code == 302
    tenant = Tenant.objects.get(name="new")
    assert tenant.weight == 2
    assert tenant.webhook_secret.startswith("whsec_")


@pytest.mark.req("FR-12")
@pytest.mark.parametrize(("field", "value"), [("weight", "0"), ("rate", "-1"), ("burst", "0.5"), ("name", "a\tb")])
def test_a_bad_limit_of_a_tenant_is_refused_in_words(browser: Browser, field: str, value: str):
    answer = browser.post("/admin/store/tenant/add/", {"name": "new", "weight": "1"} | {field: value})
    assert answer.status_code == 200
    assert field in answer.context["adminform"].errors
    assert not Tenant.objects.filter(weight__lt=1).exists()


@pytest.mark.req("FR-11")
def test_a_hosts_name_is_kept_as_its_jobs_have_it(browser: Browser):
    answer = browser.post("/admin/store/host/add/", {"name": "HTTP://Shop.Example.:8080", "rate": "2"})
    assert answer.status_code == 302
    assert Host.objects.get().name == "shop.example"


@pytest.mark.req("NFR-6")
def test_a_host_is_put_on_the_opt_out_list_and_taken_off_it(browser: Browser):
    browser.post("/admin/store/optout/add/", {"name": "*.Shop.Example.", "reason": "a letter"})
    assert run(opt_outs.opted_out(["www.shop.example"]))
    (row,) = OptOut.objects.all()
    browser.post(f"/admin/store/optout/{row.pk}/delete/", {"post": "yes"})
    assert not run(opt_outs.opted_out(["www.shop.example"]))
    refused = browser.post("/admin/store/optout/add/", {"name": "no host", "reason": ""})
    assert refused.status_code == 200
    assert not OptOut.objects.exists()


@pytest.mark.req("FR-11")
def test_a_host_is_paused_and_resumed(browser: Browser):
    Host.objects.create(name="shop.example", rate=1)
    act(browser, "host", "pause", "shop.example")
    host = Host.objects.get()
    assert (host.pause_reason, host.paused_until is not None) == ("operator", True)
    act(browser, "host", "resume", "shop.example")
    host = Host.objects.get()
    assert (host.pause_reason, host.paused_until, host.rate) == (None, None, 1)


@pytest.mark.req("FR-13")
def test_the_admin_asks_nothing_of_other_servers(browser: Browser, acme: Client):
    make_job(acme, "failed")
    for text in (page(browser, "job/"), page(browser, "deadletter/"), browser.get("/admin/").content.decode()):
        assert 'src="http' not in text
        assert 'href="http' not in text


@pytest.mark.case("target-48")
@pytest.mark.case("target-32")
@pytest.mark.req("NFR-12")
def test_evidence_of_a_refused_answer_is_for_the_operator_alone_and_is_escaped(browser: Browser, acme: Client) -> None:
    job_id = make_job(acme)
    claimed = start(job_id)
    end(claimed, failure("http_403", exchange=Exchange("headers", evidence=MARKUP, address="127.0.0.7")))
    shown = page(browser, f"job/{job_id}/change/")
    assert escape(MARKUP) in shown
    assert MARKUP not in shown
    assert "127.0.0.7" in shown
    told = call("GET", f"/jobs/{job_id}/attempts", key=acme.key)
    assert told.json["items"][0]["code"] == "http_403"
    assert "alert(1)" not in told.content.decode()
    assert "127.0.0.7" not in told.content.decode()
