"""Webhooks as people see them and act on them: the log, sending again by API, command and admin, rotating a secret."""

import io
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client as Browser

from scrapejobs.store import endpoints, upkeep
from scrapejobs.store.deliveries import Try, claim_deliveries, note_delivery
from scrapejobs.store.endpoints import Endpoint, OffRule
from scrapejobs.store.ids import new_id
from scrapejobs.store.models import Delivery, Tenant
from scrapejobs.store.run import run
from tests.integration.world import Client, call, make_client, make_job, one

HOOK = "https://me.example/hook"


@pytest.fixture
def acme(db: None) -> Client:
    return make_client("acme")


def ended(client: Client, *tries: Try, state: str = "failed", url: str | None = HOOK) -> tuple[UUID, UUID]:
    """A final job whose webhook was tried so; the ids of job and event."""
    job_id, event_id = make_job(client, state, callback_url=url), new_id()
    run(upkeep.finish([event_id]))
    for number, how in enumerate(tries, 1):
        run(claim_deliveries(limit=100, claim_s=0.0, per_origin=100))
        run(note_delivery(event_id, number=number, ended=how, endpoint=b"mark"))
        with connection.cursor() as cursor:
            cursor.execute("UPDATE delivery SET next_try_at = clock_timestamp() WHERE state = 'pending'")
    return job_id, event_id


FAILED = Try("pending", 0.25, status=503, delay_s=5.0)
GIVEN_UP = Try("given_up", 30.0, error="timeout")
DELIVERED = Try("delivered", 0.01, status=204)


def log(client: Client, job_id: UUID) -> list[dict[str, Any]]:
    reply = call("GET", f"/jobs/{job_id}/deliveries", key=client.key)
    assert reply.status == 200
    return list(reply.json["items"])


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
def test_the_log_tells_every_try(acme: Client):
    job_id, event_id = ended(acme, FAILED, GIVEN_UP)
    (delivery,) = log(acme, job_id)
    assert (delivery["id"], delivery["status"], delivery["state"]) == (str(event_id), "failed", "given_up")
    assert (delivery["url"], delivery["next_try_at"], delivery["endpoint"]) == (HOOK, None, None)
    first, second = delivery["tries"]
    assert (first["number"], first["status"], first["error"], first["duration_s"]) == (1, 503, None, 0.25)
    assert first["next_try_at"] > first["at"]
    assert (second["number"], second["status"], second["error"], second["next_try_at"]) == (2, None, "timeout", None)


@pytest.mark.req("FR-9")
def test_a_receiver_that_is_switched_off_is_named_in_the_log(acme: Client):
    job_id, _ = ended(acme, Try("given_up", 0.1, status=410))
    gone = Endpoint(acme.tenant_id, "https://me.example", (b"mark",))
    assert run(endpoints.failed(gone, is_gone=True, rule=OffRule(10, 1.0))) == "gone"
    assert run(endpoints.failed(gone, is_gone=True, rule=OffRule(10, 1.0))) is None  # it was off already
    endpoint = log(acme, job_id)[0]["endpoint"]
    assert (endpoint["origin"], endpoint["reason"]) == ("https://me.example", "gone")
    assert endpoint["off_at"] is not None


@pytest.mark.req("FR-9")
def test_a_job_without_a_callback_has_an_empty_log_and_nothing_to_send_again(acme: Client):
    job_id, _ = ended(acme, url=None)
    assert log(acme, job_id) == []
    for none in (job_id, make_job(acme, callback_url=HOOK)):
        reply = call("POST", f"/jobs/{none}/deliveries/redeliver", key=acme.key)
        assert (reply.status, reply.problem) == (409, "no-delivery")


@pytest.mark.req("NFR-5")
@pytest.mark.parametrize(("method", "path"), [("GET", "deliveries"), ("POST", "deliveries/redeliver")])
def test_deliveries_of_another_tenant_are_not_there(acme: Client, method: str, path: str):
    job_id, _ = ended(acme, GIVEN_UP)
    for key in (make_client("other").key, acme.key):
        reply = call(method, f"/jobs/{job_id if key != acme.key else new_id()}/{path}", key=key)
        assert (reply.status, reply.problem) == (404, "not-found")
    assert Delivery.objects.get().state == "given_up"


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
def test_a_client_sends_the_latest_end_of_a_job_again(acme: Client):
    job_id, event_id = ended(acme, GIVEN_UP)
    assert call("POST", f"/jobs/{job_id}/requeue", key=acme.key).status == 202
    call("POST", f"/jobs/{job_id}/cancel", key=acme.key)
    later = new_id()
    run(upkeep.finish([later]))
    reply = call("POST", f"/jobs/{job_id}/deliveries/redeliver", key=acme.key)
    assert (reply.status, reply.json["links"]["deliveries"]) == (202, f"/jobs/{job_id}/deliveries")
    first, second = log(acme, job_id)
    assert (first["id"], first["state"], first["redelivered_at"]) == (str(event_id), "given_up", None)
    assert (second["id"], second["status"], second["state"]) == (str(later), "cancelled", "pending")
    assert second["redelivered_at"] is not None


@pytest.mark.req("FR-9")
def test_a_key_for_reading_sends_nothing_again(acme: Client):
    job_id, _ = ended(acme, GIVEN_UP)
    reader = make_client("acme", "read")
    assert call("POST", f"/jobs/{job_id}/deliveries/redeliver", key=reader.key).problem == "forbidden"
    assert len(log(reader, job_id)) == 1


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("deliveries", *arguments, stdout=out)
    return out.getvalue()


def states() -> list[str]:
    return list(Delivery.objects.order_by("event_id").values_list("state", flat=True))


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
def test_deliveries_are_sent_again_by_filter_and_the_same_command_goes_on(acme: Client):
    other = make_client("other")
    for client, how in ((acme, GIVEN_UP), (acme, GIVEN_UP), (acme, DELIVERED), (other, GIVEN_UP)):
        ended(client, how)
    assert said("redeliver", "--tenant", "acme", "--limit", "1") == "1 sent again\n"
    assert states() == ["pending", "given_up", "delivered", "given_up"]
    assert said("redeliver", "--tenant", "acme") == "1 sent again\n"
    assert said("redeliver", "--status", "delivered", "--origin", "https://ME.example/") == "1 sent again\n"
    assert states() == ["pending", "pending", "pending", "given_up"]
    assert said("redeliver", "--until", "2026-01-01") == "0 sent again\n"
    assert said("redeliver", "--all") == "1 sent again\n"


@pytest.mark.req("FR-9")
def test_what_was_sent_again_and_arrived_is_not_sent_a_third_time(acme: Client):
    _, event_id = ended(acme, DELIVERED)
    assert said("redeliver", "--status", "delivered") == "1 sent again\n"
    run(claim_deliveries(limit=1, claim_s=0.0, per_origin=1))
    run(note_delivery(event_id, number=2, ended=DELIVERED, endpoint=None))
    assert said("redeliver", "--status", "delivered") == "0 sent again\n"


@pytest.mark.req("FR-9")
@pytest.mark.parametrize("arguments", [(), ("--all", "--tenant", "acme"), (str(UUID(int=1)), "--all")])
def test_it_must_be_said_which_deliveries(acme: Client, arguments: tuple[str, ...]):
    with pytest.raises(CommandError, match="say which") as refused:
        said("redeliver", *arguments)
    assert refused.value.returncode == 2


@pytest.mark.req("FR-9")
def test_events_without_a_delivery_are_named_and_the_others_sent(acme: Client):
    _, event_id = ended(acme, GIVEN_UP)
    stranger = new_id()
    with pytest.raises(CommandError, match=str(stranger)):
        said("redeliver", str(event_id), str(stranger))
    assert states() == ["pending"]


@pytest.mark.req("FR-9")
def test_endpoints_that_are_off_are_listed_and_switched_on(acme: Client):
    run(endpoints.failed(Endpoint(acme.tenant_id, "https://me.example", (b"m",)), is_gone=True, rule=OffRule(9, 9.0)))
    assert "https://me.example" in said("endpoints")
    id_ = one("SELECT id FROM endpoint")
    assert said("switch-on", str(id_)) == "1 switched on\n"
    assert one("SELECT count(*) FROM endpoint") == 0
    with pytest.raises(CommandError, match="not there"):
        said("switch-on", str(id_))


@pytest.fixture
def browser(acme: Client) -> Browser:
    browser = Browser(HTTP_HOST="127.0.0.1")
    browser.force_login(User.objects.create_superuser("operator"))
    return browser


def act(browser: Browser, model: str, action: str, *ids: object) -> Any:
    chosen = {"action": action, "_selected_action": [str(id_) for id_ in ids]}
    return browser.post(f"/admin/store/{model}/", chosen)


@pytest.mark.req("FR-9")
def test_an_operator_sends_again_and_switches_on(browser: Browser, acme: Client):
    job_id, event_id = ended(acme, GIVEN_UP)
    assert str(event_id) in browser.get(f"/admin/store/delivery/?q={job_id}").content.decode()
    assert act(browser, "delivery", "redeliver", event_id).status_code == 302
    assert states() == ["pending"]
    run(endpoints.failed(Endpoint(acme.tenant_id, "https://me.example", (b"m",)), is_gone=True, rule=OffRule(9, 9.0)))
    assert "https://me.example" in browser.get("/admin/store/endpoint/").content.decode()
    assert act(browser, "endpoint", "switch_on", one("SELECT id FROM endpoint")).status_code == 302
    assert one("SELECT count(*) FROM endpoint") == 0


@pytest.mark.req("FR-9")
@pytest.mark.req("NFR-12")
def test_a_rotated_secret_is_shown_once_and_the_old_one_lives_on_for_a_day(browser: Browser, acme: Client):
    before = Tenant.objects.get(name="acme")
    answer = act(browser, "tenant", "rotate_secret", before.pk)
    after = Tenant.objects.get(name="acme")
    assert after.webhook_secret not in {before.webhook_secret, ""}
    assert after.webhook_secret in answer.content.decode()
    assert after.webhook_secret_old == before.webhook_secret
    assert (
        one("SELECT round(extract(epoch FROM webhook_secret_old_until - clock_timestamp()) / 3600) FROM tenant") == 24
    )
    later = [browser.get(f"/admin/store/tenant/{path}") for path in ("", f"{after.pk}/change/", f"{after.pk}/history/")]
    shown = [page.content.decode() for page in later]
    assert not [text for text in shown for secret in (after, before) if secret.webhook_secret in text]


@pytest.mark.req("FR-9")
def test_a_secret_is_rotated_by_command(acme: Client):
    def said(*arguments: str) -> str:
        out = io.StringIO()
        call_command("tenants", "secret", *arguments, stdout=out)
        return out.getvalue().strip()

    old = said("show", "acme")
    new = said("rotate", "acme", "--overlap", "60")
    assert new.startswith("whsec_")
    assert said("show", "acme") == new != old
    assert Tenant.objects.get(name="acme").webhook_secret_old == old
    with pytest.raises(CommandError, match="no tenant is called"):
        said("rotate", "nobody")
