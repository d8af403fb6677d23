"""Signatures that the published library makes are taken, and whatever it refuses is refused."""

import json
import time
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from scrapejobs.domain import webhook
from scrapejobs_client import WebhookError, verify_webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # of the specification's example
OTHER = webhook.new_secret(bytes(range(24)))
BODY = json.dumps({"id": "01a2", "status": "succeeded", "finished_at": "2026-12-01T11:00:00Z", "links": {}}).encode()


def signed(*secrets: str, body: bytes = BODY, at: float | None = None) -> dict[str, str]:
    """The headers of a call, by the published library."""
    moment = datetime.fromtimestamp(time.time() if at is None else at, UTC)
    signatures = [Webhook(secret).sign("evt_1", moment, body.decode()) for secret in secrets]
    return {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


@pytest.mark.req("FR-9")
def test_the_example_of_the_specification_is_taken():
    body = b'{"test": 2432232314}'
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    with pytest.raises(WebhookError, match="signed, but"):  # the signature fits; the body is not of this service
        verify_webhook(body, headers, SECRET, now=1614265330.0)


@pytest.mark.req("FR-9")
def test_a_call_that_the_published_library_signed_is_taken():
    event = verify_webhook(BODY, signed(SECRET), SECRET)
    assert (event.event_id, event.job_id, event.status) == ("evt_1", "01a2", "succeeded")
    assert event.finished_at == datetime(2026, 12, 1, 11, tzinfo=UTC)


@pytest.mark.req("FR-9")
def test_while_secrets_rotate_either_is_enough_on_either_side():
    both = signed(OTHER, SECRET)
    assert verify_webhook(BODY, both, SECRET).event_id == "evt_1"
    assert verify_webhook(BODY, signed(OTHER), [SECRET, OTHER]).event_id == "evt_1"


@pytest.mark.req("FR-9")
def test_names_of_headers_may_come_in_any_case():
    headers = {name.title(): value for name, value in signed(SECRET).items()}
    assert verify_webhook(BODY, headers, SECRET).event_id == "evt_1"


@pytest.mark.req("FR-9")
@pytest.mark.parametrize(
    ("changes", "body"),
    [
        ({}, BODY.replace(b"succeeded", b"failed")),
        ({}, BODY + b" "),
        ({"webhook-id": "evt_2"}, BODY),
        ({"webhook-id": ""}, BODY),
        ({"webhook-timestamp": ""}, BODY),
        ({"webhook-timestamp": "yesterday"}, BODY),
        ({"webhook-timestamp": "-1"}, BODY),
        ({"webhook-timestamp": "1e9"}, BODY),
        ({"webhook-signature": ""}, BODY),
        ({"webhook-signature": "v1,"}, BODY),
        ({"webhook-signature": "v1a,AAAA"}, BODY),
        ({"webhook-signature": "v1,é"}, BODY),
        ({"webhook-signature": signed(OTHER)["webhook-signature"]}, BODY),
        ({"webhook-signature": signed(SECRET)["webhook-signature"].replace("v1,", "v2,")}, BODY),
    ],
)
def test_whatever_is_not_signed_so_is_refused_as_by_the_published_library(changes: dict[str, str], body: bytes):
    headers = signed(SECRET) | changes
    with pytest.raises(Exception):  # noqa: B017, PT011 - of whichever kind
        Webhook(SECRET).verify(body.decode(), headers)
    with pytest.raises(WebhookError):
        verify_webhook(body, headers, SECRET)


@pytest.mark.req("FR-9")
@pytest.mark.parametrize("off_s", [-301.0, 301.0])
def test_a_call_of_another_time_is_refused(off_s: float):
    now = 1_800_000_000.0
    headers = signed(SECRET, at=now + off_s)
    with pytest.raises(WebhookError, match="old"):
        verify_webhook(BODY, headers, SECRET, now=now)
    assert verify_webhook(BODY, headers, SECRET, now=now, tolerance_s=400).event_id == "evt_1"


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_***"])
def test_a_secret_that_is_none_is_an_error_of_the_program(secret: str):
    with pytest.raises(ValueError, match="whsec_"):
        verify_webhook(BODY, signed(SECRET), secret)
