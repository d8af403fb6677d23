"""Statuses, and what a job expects of its answer."""

import pytest

from scrapejobs.adapters.answer import Expectation
from scrapejobs.adapters.fetcher import Fetched, Fetcher, FetchRequest
from scrapejobs.domain.outcome import Permanent, Temporary
from tests.integration.fetching import (
    failed,
    fetched,
)
from tests.integration.raw_target import RawTarget, response


@pytest.mark.case("target-45")
@pytest.mark.req("NFR-6")
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("header", "seconds"), [("Retry-After: 5\r\n", 5.0), ("Retry-After: abc\r\n", None), ("", None)]
)
async def test_the_wait_that_a_target_asks_for_is_passed_on(
    target: RawTarget, fetcher: Fetcher, status: int, header: str, seconds: float | None
) -> None:
    target.answers["/"] = response(status=f"{status} X", headers=header)
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, Temporary)
    assert (outcome.code, outcome.retry_after_s) == (f"http_{status}", seconds)


@pytest.mark.req("NFR-7")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *(pytest.param(n, Temporary, marks=pytest.mark.case("target-47")) for n in (408, 425, 500, 502, 503, 504)),
        *(pytest.param(n, Permanent, marks=pytest.mark.case("target-48")) for n in (400, 401, 403, 404, 405, 410, 451)),
    ],
)
async def test_an_error_status_is_classed_and_kept(
    target: RawTarget, fetcher: Fetcher, status: int, kind: type
) -> None:
    target.answers["/"] = response(b"why", status=f"{status} X")
    outcome = await failed(fetcher, target.url("/"))
    assert isinstance(outcome, kind)
    assert (outcome.code, outcome.exchange.target_status) == (f"http_{status}", status)


@pytest.mark.case("target-48")
async def test_a_job_may_accept_a_status(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(b"not here", status="404 X")
    outcome, body = await fetched(fetcher, target.url("/"), accept_statuses=frozenset({404}))
    assert (outcome.status, body) == (404, b"not here")


@pytest.mark.req("FR-1")
@pytest.mark.parametrize(
    ("expect", "is_met"),
    [
        (Expectation(content_type="Application/JSON", min_bytes=8, json=True), True),
        (Expectation(content_type="text/html"), False),
        (Expectation(min_bytes=9), False),
    ],
)
async def test_an_answer_is_held_to_what_the_job_expects(
    target: RawTarget, fetcher: Fetcher, expect: Expectation, is_met: bool
) -> None:
    target.answers["/"] = response(b'{"a": 1}', headers="Content-Type: application/json; charset=utf-8\r\n")
    outcome = await fetcher.fetch(FetchRequest(target.url("/"), expect=expect))
    if isinstance(outcome, Fetched):
        assert is_met
        assert outcome.body.read() == b'{"a": 1}'
        outcome.body.close()
    else:
        assert not is_met
        assert outcome.code == "unexpected_content"


@pytest.mark.req("FR-1")
@pytest.mark.parametrize("body", [b'{"a": ', b"<html>", b"", b"\xff", b"[" * 100_000])
async def test_a_job_that_expects_json_takes_nothing_else(target: RawTarget, fetcher: Fetcher, body: bytes) -> None:
    target.answers["/"] = response(body)
    outcome = await failed(fetcher, target.url("/"), expect=Expectation(json=True))
    assert outcome.code == "unexpected_content"
