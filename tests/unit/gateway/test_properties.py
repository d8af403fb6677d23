"""Whatever comes, the readers either read it or refuse it, and what they read has one meaning (FR-1)."""

import json
import math
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from scrapejobs.domain.retry_after import parse_retry_after
from scrapejobs.gateway import cursor
from scrapejobs.gateway.problems import Problem
from scrapejobs.gateway.reading import idempotency_key, query_as, shaped
from scrapejobs.gateway.strict_json import INTEGERS, parse
from scrapejobs.intake.headers import check_headers
from scrapejobs.intake.requests import JobRequest
from scrapejobs.query.shapes import ListQuery

pytestmark = pytest.mark.req("FR-1")

DATE = r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
SECRET, TENANT = "a-secret-of-32-characters-or-more", 7
KEPT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))
NUMBERS = st.integers(INTEGERS.start, INTEGERS.stop - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | KEPT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEPT, inner, max_size=4),
    max_leaves=20,
)
PIECES = st.lists(
    st.sampled_from(["{", "}", "[", "]", ",", ":", '"', "\\", "\\u", "d800", "dc00", "0000", "1", "-", ".", "e9", "E+"])
    | st.sampled_from(["true", "null", "NaN", "Infinity", '"a"', '"a":1', "\ufeff", "\0", " ", "\n", "\x0c", "\ud83d"])
)
TEXTS = st.binary(max_size=64) | PIECES.map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))
FIELDS = (
    "url",
    "params",
    "priority",
    "callback_url",
    "tags",
    "method",
    "headers",
    "query",
    "body",
    "json",
    "timeout_s",
)
JOBS = st.recursive(
    st.none() | st.booleans() | NUMBERS | KEPT | st.sampled_from(["GET", "https://a.example/", "high"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | KEPT, inner, max_size=5),
)


def asked(**meta: str) -> Request:
    request = APIRequestFactory().get("/jobs")
    request.META |= meta
    return Request(request)


def refusable(read: Any, *arguments: Any, **named: Any) -> Any:
    """What was read, or the refusal: a client's mistake, in an answer that can be sent."""
    try:
        return read(*arguments, **named)
    except Problem as problem:
        refused = problem
    assert 400 <= refused.answer().status_code < 500
    return refused


@given(TEXTS)
@example(b"[" * 2000)
def test_a_body_is_refused_or_read_as_any_other_reader_does(text: bytes) -> None:
    value = refusable(parse, text)
    if not isinstance(value, Problem):
        assert value == json.loads(text)
        assert msgspec.json.decode(msgspec.json.encode(value)) == value


@given(VALUES, st.booleans())
def test_every_value_that_can_be_kept_is_read(value: Any, ascii_only: bool) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(JOBS)
def test_a_job_is_refused_or_fits_its_shape(value: Any) -> None:
    job = refusable(shaped, value, JobRequest)
    if not isinstance(job, Problem):
        assert msgspec.convert(msgspec.to_builtins(job), JobRequest) == job


@given(st.text(st.characters(max_codepoint=255)) | KEPT)
@example('"a"')
@example('"a')
@example("a,b")
def test_an_idempotency_key_is_refused_or_visible_ascii_of_one_spelling(value: str) -> None:
    key = refusable(idempotency_key, asked(HTTP_IDEMPOTENCY_KEY=value))
    if not isinstance(key, Problem):
        assert value in {key, f'"{key}"'}
        assert 1 <= len(key) <= 255
        assert all("!" <= character <= "~" for character in key)


@given(st.text(st.characters(max_codepoint=127)) | st.text("&=%0123456789abcdefghijlmnopqrstu.+", max_size=60))
@example("limit=1&limit=2")
@example("tag.=x")
@example("tag.a=%ff")
@example("created_after=9999-12-31T23:59:59-23:59")
def test_a_query_is_refused_or_fits_its_shape(text: str) -> None:
    query = refusable(query_as, asked(QUERY_STRING=text), ListQuery, maps=("tag",))
    if not isinstance(query, Problem):
        assert 1 <= query.limit <= 1000


@given(st.binary(min_size=16, max_size=16), st.data())
def test_a_cursor_is_good_in_its_one_spelling_and_for_its_list_alone(last: bytes, data: st.DataObject) -> None:
    bound = {"tenant_id": TENANT, "wanted": {"status": None}, "secret": SECRET}
    issued = cursor.issue(UUID(bytes=last), **bound)
    assert cursor.redeem(issued, **bound) == UUID(bytes=last)
    at = data.draw(st.integers(0, len(issued) - 1))
    changed = issued[:at] + data.draw(st.characters(exclude_characters=issued[at])) + issued[at + 1 :]
    for other in (changed, issued + "=", issued[:-1], f" {issued}", data.draw(st.text())):
        with pytest.raises(Problem, match="invalid-cursor"):
            cursor.redeem(other, **bound)
    with pytest.raises(Problem, match="invalid-cursor"):
        cursor.redeem(issued, **(bound | {"tenant_id": TENANT + 1}))


@pytest.mark.req("NFR-6")
@given(
    st.text()
    | st.from_regex(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT")
    | st.from_regex(r"[0-9]*")
)
def test_retry_after_is_a_time_to_come_or_nonsense(value: str) -> None:
    seconds = parse_retry_after(value, now=NOW)
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


@given(st.dictionaries(st.text(), st.text() | st.text(st.characters(max_codepoint=127)), max_size=3))
def test_a_header_that_is_taken_frames_nothing(headers: dict[str, str]) -> None:
    if not isinstance(refusable(check_headers, headers), Problem):
        for name, value in headers.items():
            assert name.isascii()
            assert value.isascii()
            assert not set(name + value) & set("\r\n\0")
            assert ":" not in name
