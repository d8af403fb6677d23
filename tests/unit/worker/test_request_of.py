"""What a claimed job asks of the fetcher."""

from typing import Any

import pytest

from scrapejobs.worker.runner import request_of

PARAMS: dict[str, Any] = {
    "method": "POST",
    "headers": {"X-A": "1"},
    "query": {"q": "é"},
    "body": None,
    "json": None,
    "timeout_s": 60.0,
    "max_bytes": 10,
    "follow_redirects": False,
    "accept_statuses": [404],
    "retry_unsafe": False,
    "expect": {"content_type": "text/html", "min_bytes": 3, "json": False},
}


def claimed(*, remaining_s: float = 1000.0, **params: Any) -> dict[str, Any]:
    return {"url": "http://h/", "remaining_s": remaining_s, "params": {**PARAMS, **params}}


@pytest.mark.req("FR-1")
def test_every_parameter_of_the_job_reaches_the_request() -> None:
    asked = request_of(claimed())
    assert (asked.url, asked.method, asked.query, asked.max_bytes) == ("http://h/", "POST", {"q": "é"}, 10)
    assert (asked.follow_redirects, asked.accept_statuses, asked.body) == (False, frozenset({404}), None)
    assert asked.expect is not None
    assert asked.expect.min_bytes == 3


@pytest.mark.req("FR-1")
@pytest.mark.parametrize(("value", "body"), [(None, b"null"), ({"a": 1}, b'{"a":1}')])
def test_a_json_body_is_encoded_and_named_unless_the_job_names_another_type(value: Any, body: bytes) -> None:
    asked = request_of(claimed(json={"value": value}))
    assert asked.body == body
    assert asked.headers["Content-Type"] == "application/json"
    named = request_of(claimed(json={"value": value}, headers={"content-type": "application/ld+json"}))
    assert named.headers == {"content-type": "application/ld+json"}


@pytest.mark.req("FR-1")
def test_a_text_body_is_sent_as_utf_8() -> None:
    assert request_of(claimed(body="é")).body == "é".encode()


@pytest.mark.req("NFR-7")
@pytest.mark.parametrize(("remaining_s", "timeout_s"), [(1000.0, 60.0), (5.0, 5.0), (-3.0, 0.1)])
def test_the_deadline_bounds_the_time_of_the_attempt(remaining_s: float, timeout_s: float) -> None:
    assert request_of(claimed(remaining_s=remaining_s)).timeout_s == timeout_s
