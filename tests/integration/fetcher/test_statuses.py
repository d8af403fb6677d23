"""Statuses, and what a job expects of its answer."""

import gzip

import pytest

from scrapejobs.adapters.answer import Expectation
from scrapejobs.adapters.fetcher import Fetched, Fetcher, FetchRequest
from scrapejobs.domain.outcome import Permanent, Temporary
from tests.integration.fetching import (
    AS_GZIP,
    HELLO,
    failed,
    fetched,
    head,
    then,
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


@pytest.mark.case("target-48")
@pytest.mark.req("NFR-12")
async def test_the_first_bytes_of_a_refused_answer_are_kept_for_the_operator(
    target: RawTarget, fetcher: Fetcher
) -> None:
    page = b"<h1>Forbidden for Bearer t0p-s3cret</h1>" + b" " * 4000 + b"end"
    target.answers["/"] = response(gzip.compress(page), status="403 No", headers=AS_GZIP)
    outcome = await failed(fetcher, target.url("/"), headers={"Authorization": "Bearer t0p-s3cret"})
    assert outcome.exchange is not None
    assert outcome.exchange.evidence == "<h1>Forbidden for ***</h1>".ljust(2048)
    assert "Forbidden" not in outcome.detail


@pytest.mark.case("target-48")
@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        (response(b"", status="404 X"), ""),
        (response(b"plain", status="404 X", headers=AS_GZIP), "plain"),
        (response(gzip.compress(HELLO)[:-9], status="404 X", headers=AS_GZIP), HELLO.decode()),
        (head("HTTP/1.1 500 X\nContent-Length: 100\n\ncut"), "cut"),
        (head("HTTP/1.1 500 X\nTransfer-Encoding: chunked\n\nbroken"), ""),
    ],
    ids=["empty", "plain", "cut-gzip", "cut", "broken"],
)
async def test_no_refused_body_changes_how_the_attempt_ends(
    target: RawTarget, fetcher: Fetcher, answer: bytes, evidence: str
) -> None:
    target.answers["/"] = answer
    outcome = await failed(fetcher, target.url("/"))
    assert outcome.exchange is not None
    assert outcome.code == f"http_{answer[9:12].decode()}"
    assert evidence.startswith(outcome.exchange.evidence)
    assert bool(evidence) == bool(outcome.exchange.evidence)


@pytest.mark.case("target-48")
@pytest.mark.parametrize("timeout_s", [0.1, 0.6])
async def test_a_refused_body_that_hangs_is_not_waited_for(
    target: RawTarget, fetcher: Fetcher, timeout_s: float
) -> None:
    target.answers["/"] = then(head("HTTP/1.1 503 X\nContent-Length: 9\n\nsorry"), drip=b" ", every_s=60)
    outcome = await failed(fetcher, target.url("/"), timeout_s=timeout_s)
    assert outcome.code == "http_503"


@pytest.mark.case("target-48")
async def test_an_answer_that_is_not_what_the_job_expects_leaves_evidence(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(b"<html>login</html>")
    outcome = await failed(fetcher, target.url("/"), expect=Expectation(json=True))
    assert outcome.exchange is not None
    assert (outcome.code, outcome.exchange.evidence) == ("unexpected_content", "<html>login</html>")


@pytest.mark.case("target-47")
async def test_no_evidence_is_kept_of_an_answer_that_is_taken(target: RawTarget, fetcher: Fetcher) -> None:
    target.answers["/"] = response(b"{}", status="404 X")
    outcome, _ = await fetched(
        fetcher, target.url("/"), accept_statuses=frozenset({404}), expect=Expectation(json=True)
    )
    assert outcome.exchange.evidence == ""
