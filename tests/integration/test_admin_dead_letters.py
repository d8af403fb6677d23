"""Acting on thousands of dead letters from the admin: asked first, batch by batch, stopped and gone on with."""

import io
import re
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connection
from django.test import Client as Browser

from scrapejobs.domain.outcome import Exchange, failure
from scrapejobs.ops.admin.batches import BATCH
from scrapejobs.store.models import Job
from scrapejobs.store.run import run
from scrapejobs.store.transitions import requeue_all
from tests.integration.world import Client, end, make_client, make_job, one, publish, start

URL = "/admin/store/deadletter/batches/"


@pytest.fixture
def acme(db: None) -> Client:
    return make_client("acme")


def logged_in(user: User, **options: Any) -> Browser:
    browser = Browser(HTTP_HOST="127.0.0.1", **options)
    browser.force_login(user)
    return browser


@pytest.fixture
def browser(acme: Client) -> Browser:
    return logged_in(User.objects.create_superuser("operator"))


def copies(job: UUID, n: int) -> None:
    """`n` more jobs like that one."""
    columns = ", ".join(field.column for field in Job._meta.concrete_fields if field.column != "id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO job (id, {columns}) SELECT (left(%(id)s, 24) || lpad(to_hex(i), 12, '0'))::uuid, {columns}"  # noqa: S608
            " FROM job, generate_series(1, %(n)s) i WHERE id = %(id)s::uuid",
            {"id": str(job), "n": n},
        )


def fields(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))


def asked(browser: Browser, **query: str) -> dict[str, str]:
    """The fields of the form that asks."""
    answer = browser.get(URL, query)
    assert answer.status_code == 200
    return fields(answer.content.decode())


def dead(host: str) -> int:
    return Job.objects.filter(host=host, final_state="failed", discarded_at=None).count()


@pytest.mark.req("FR-10")
@pytest.mark.parametrize("act", ["requeue", "discard"])
def test_a_group_is_asked_for_with_its_count_and_nothing_is_done_yet(browser: Browser, acme: Client, act: str):
    copies(make_job(acme, "failed", host="a.example"), 2)
    make_job(acme, "failed", host="b.example")
    links = re.findall(r'href="batches/\?([^"]+)"', browser.get("/admin/store/deadletter/").content.decode())
    (link,) = [link.replace("&amp;", "&") for link in links if f"act={act}" in link and "a.example" in link]
    form = fields(browser.get(f"{URL}?{link}").content.decode())
    assert (form["act"], form["host"], form["code"], form["total"]) == (act, "a.example", "http_401", "3")
    assert (dead("a.example"), dead("b.example")) == (3, 1)


@pytest.mark.req("FR-10")
@pytest.mark.case("S20")
def test_each_post_does_one_batch_until_all_are_done_and_other_hosts_stay(browser: Browser, acme: Client):
    copies(make_job(acme, "failed", host="a.example"), 2 * BATCH)
    make_job(acme, "failed", host="b.example")
    form = asked(browser, act="requeue", host="a.example")
    told = [browser.post(URL, form, headers={"accept": "application/json"}).json() for _ in range(4)]
    n = 2 * BATCH + 1
    assert told == [
        {"done": BATCH, "total": n, "finished": False},
        {"done": 2 * BATCH, "total": n, "finished": False},
        {"done": n, "total": n, "finished": False},
        {"done": n, "total": n, "finished": True},
    ]
    assert (dead("a.example"), dead("b.example")) == (0, 1)
    assert one("SELECT count(*) FROM django_admin_log WHERE change_message = 'requeued'") == n


@pytest.mark.req("FR-10")
def test_without_a_script_the_page_has_a_button_that_goes_on(browser: Browser, acme: Client):
    copies(make_job(acme, "failed", host="a.example"), BATCH)
    page = browser.post(URL, asked(browser, act="discard", host="a.example")).content.decode()
    assert f"{BATCH} of {BATCH + 1} done" in page
    assert "Continue" in page
    browser.post(URL, fields(page))
    assert dead("a.example") == 0


@pytest.mark.req("FR-10")
def test_what_fails_after_the_question_is_left_for_another_time(browser: Browser, acme: Client):
    make_job(acme, "failed", host="a.example")
    form = asked(browser, act="discard", host="a.example")
    make_job(acme, "failed", host="a.example")
    browser.post(URL, form)
    browser.post(URL, form)
    assert dead("a.example") == 1


@pytest.mark.req("FR-10")
def test_who_may_only_look_is_refused(acme: Client):
    looker = User.objects.create_user("looker", is_staff=True)
    looker.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    make_job(acme, "failed", host="a.example")
    browser = logged_in(looker)
    assert browser.post(URL, {"act": "discard", "host": "a.example"}).status_code == 403
    assert "batches/" not in browser.get("/admin/store/deadletter/").content.decode()
    assert dead("a.example") == 1


@pytest.mark.req("FR-10")
def test_a_batch_needs_the_forms_token(acme: Client):
    make_job(acme, "failed", host="a.example")
    browser = logged_in(User.objects.create_superuser("operator"), enforce_csrf_checks=True)
    assert browser.post(URL, {"act": "discard", "host": "a.example"}).status_code == 403
    assert dead("a.example") == 1


@pytest.mark.req("FR-10")
@pytest.mark.parametrize(
    "query", [{}, {"act": "delete"}, {"act": "requeue", "until": "x"}, {"act": "requeue", "host": "\0"}]
)
def test_a_question_that_makes_no_sense_is_refused_in_words(browser: Browser, query: dict[str, str]):
    assert browser.get(URL, query).status_code == 400


@pytest.mark.req("FR-10")
@pytest.mark.parametrize(
    ("model", "state", "button"), [("job", "queued", "cancel_jobs"), ("deadletter", "failed", "requeue")]
)
def test_one_jobs_own_page_has_its_buttons(browser: Browser, acme: Client, model: str, state: str, button: str):
    job = make_job(acme, state)
    page = browser.get(f"/admin/store/{model}/{job}/change/").content.decode()
    assert f'name="action" value="{button}"' in page
    assert fields(page)["_selected_action"] == str(job)


@pytest.mark.req("FR-10")
def test_the_script_of_the_page_is_served(browser: Browser):
    answer = browser.get("/static/ops/batches.js")
    assert (answer.status_code, b"fetch(" in answer.getvalue()) == (200, True)
    answer.close()


@pytest.mark.req("FR-10")
def test_the_history_goes_back_before_a_requeue(browser: Browser, acme: Client):
    job = make_job(acme, "failed")
    run(requeue_all([job]))
    publish(job)
    end(start(job), failure("http_403", phase="headers", exchange=Exchange("headers", target_status=403)))
    page = browser.get(f"/admin/store/deadletter/{job}/change/").content.decode()
    out = io.StringIO()
    call_command("dead_letters", "show", str(job), stdout=out)
    for shown in (page, out.getvalue()):
        assert "http_401" in shown
        assert "http_403" in shown
