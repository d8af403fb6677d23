"""Webhooks as Standard Webhooks says, checked with its own library."""

import base64
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from scrapejobs.domain.webhook import new_secret, next_try_s, sign

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # of the specification's example
EVENT = "msg_p5jXN8AQM9LWM0D4loKWxJek"


@pytest.mark.req("FR-9")
def test_the_example_of_the_specification_is_signed_as_there() -> None:
    """standard-webhooks, libraries' test vector: body {"test": 2432232314} at 1614265330."""
    made = sign(secrets=[SECRET], event_id=EVENT, timestamp=1614265330, body=b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.req("FR-9")
def test_a_signature_verifies_with_the_reference_library_and_a_changed_body_does_not() -> None:
    now = datetime.now(UTC)
    headers = {"webhook-id": EVENT, "webhook-timestamp": str(int(now.timestamp()))}
    body = '{"id": "é"}'.encode()
    headers["webhook-signature"] = sign(secrets=[SECRET], event_id=EVENT, timestamp=int(now.timestamp()), body=body)
    Webhook(SECRET).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body.replace(b"id", b"ix"), headers)


@pytest.mark.req("FR-9")
def test_while_two_secrets_are_live_either_of_them_verifies() -> None:
    """Standard Webhooks: the signatures of all live secrets, with a space between."""
    now = int(datetime.now(UTC).timestamp())
    old, new = new_secret(bytes(24)), new_secret(bytes(range(24)))
    signature = sign(secrets=[new, old], event_id=EVENT, timestamp=now, body=b"{}")
    assert len(signature.split(" ")) == 2
    headers = {"webhook-id": EVENT, "webhook-timestamp": str(now), "webhook-signature": signature}
    for secret in (old, new):
        Webhook(secret).verify(b"{}", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret(b"x" * 24)).verify(b"{}", headers)


@pytest.mark.req("FR-9")
def test_a_new_secret_is_its_bytes_in_base64() -> None:
    secret = new_secret(bytes(range(24)))
    assert secret.startswith("whsec_")
    assert base64.b64decode(secret.removeprefix("whsec_")) == bytes(range(24))


@pytest.mark.req("FR-9")
@pytest.mark.case("S4")
def test_tries_come_at_the_times_of_the_contract_and_then_end() -> None:
    """api.md: about 0 s, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h."""
    hour = 3600.0
    waits = [next_try_s(tries, retry_after_s=None) for tries in range(11)]
    hours = [2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
    assert waits == [0.0, 5.0, 300.0, 1800.0, *hours, None]


@pytest.mark.req("FR-9")
@pytest.mark.parametrize(("asked_s", "wait_s"), [(None, 5.0), (1.0, 5.0), (60.0, 60.0), (1e9, 86_400.0)])
def test_a_receiver_may_ask_for_a_longer_wait_of_up_to_a_day(asked_s: float | None, wait_s: float) -> None:
    assert next_try_s(1, retry_after_s=asked_s) == wait_s
