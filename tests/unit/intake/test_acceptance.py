"""From a request to a job that may be stored."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from django.conf import settings

from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.gateway.context import Context
from scrapejobs.gateway.problems import Problem
from scrapejobs.intake.acceptance import Origin, accept
from scrapejobs.intake.headers import check_headers
from scrapejobs.intake.requests import JobRequest
from scrapejobs.store.ids import new_id
from scrapejobs.store.sealing import Ring, open_callback, open_request
from scrapejobs.store.transitions import NewJob


class SilentBus:
    """Nobody listens in unit tests."""

    def wake(self, topic: str) -> None: ...

    def cancelled(self, job_id: object) -> None: ...


RING = Ring(["a-key-for-tests-0123456789-0123456789"])
CONTEXT = Context(settings.CONFIG, EgressPolicy(), SilentBus(), RING, None, None, None)  # type: ignore[arg-type]


def accepted(body: dict[str, Any], *, api_host: str = "api.example.com", **config: Any) -> NewJob:
    context = replace(CONTEXT, config=settings.CONFIG.model_copy(update=config))
    request = msgspec.convert({"url": "https://www.example.com/"} | body, JobRequest)
    return accept(request, job_id=new_id(), origin=Origin(1, api_host), context=context)


def callback_of(job: NewJob) -> str:
    return open_callback(RING, {"url": job.callback_url, "sealed": job.callback_sealed, "job_id": job.id})


@pytest.mark.req("FR-1")
def test_the_host_is_the_targets_without_case_dot_and_port() -> None:
    job = accepted({"url": "HTTP://Shop.Example.:8080/A"})
    assert (job.url, job.host) == ("http://shop.example:8080/A", "shop.example")


@pytest.mark.req("FR-1")
def test_the_highest_values_are_taken() -> None:
    job = accepted({"params": {"timeout_s": 300, "max_bytes": 104_857_600, "max_attempts": 20, "deadline_s": 604_800}})
    assert (job.params["timeout_s"], job.params["max_bytes"]) == (300.0, 104_857_600)
    assert (job.max_attempts, job.deadline_s) == (20, 604_800.0)


@pytest.mark.req("FR-9")
@pytest.mark.case("in-109")
@pytest.mark.parametrize(
    ("callback", "api_host", "api_url"),
    [
        ("https://api.example.com/jobs", "api.example.com", None),
        ("https://API.example.com./jobs", "api.example.com", None),
        ("https://api.example.com:8443/jobs", "api.example.com:8443", None),
        ("https://public.example.com/jobs", "10.0.0.5:8000", "https://public.example.com"),
    ],
)
def test_the_api_is_not_its_own_receiver(callback: str, api_host: str, api_url: str | None) -> None:
    with pytest.raises(Problem, match="callback-not-allowed"):
        accepted({"callback_url": callback}, api_host=api_host, api_url=api_url)


@pytest.mark.req("FR-9")
def test_another_port_of_the_apis_machine_may_be_called() -> None:
    body = {"callback_url": "https://api.example.com:9443/hook"}
    assert callback_of(accepted(body, api_host="api.example.com:8443")) == "https://api.example.com:9443/hook"


@pytest.mark.req("FR-9")
def test_plain_http_callbacks_are_a_setting() -> None:
    body = {"callback_url": "http://hooks.example.com/x"}
    with pytest.raises(Problem, match="callback-not-allowed"):
        accepted(body)
    assert callback_of(accepted(body, callback_allow_http=True)) == "http://hooks.example.com/x"


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "te",
        "Transfer-Encoding",
        "UPGRADE",
        "Proxy-Connection",
        "Metadata",
        "X-aws-ec2-metadata-token-ttl-seconds",
        "X-Google-Metadata-Request",
        "Keep-Alive",
        "Trailer",
        "",
        "a b",
        "a:b",
        "é",
    ],
)
def test_headers_that_are_not_the_jobs_are_refused(name: str) -> None:
    with pytest.raises(Problem, match="header-not-allowed"):
        check_headers({name: "x"})


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\0b", "\x7f", "é", "\u2028"])
def test_header_values_are_plain_text(value: str) -> None:
    with pytest.raises(Problem, match="header-not-allowed"):
        check_headers({"X": value})


@pytest.mark.req("FR-1")
def test_ordinary_headers_are_taken() -> None:
    check_headers({"Accept": "text/html, */*;q=0.8", "Authorization": "Bearer x", "Cookie": "a=b", "X-Empty": ""})


@pytest.mark.req("NFR-12")
def test_secrets_are_sealed_before_a_job_is_stored() -> None:
    params = {"method": "POST", "headers": {"Cookie": "canary", "Accept": "text/html"}, "query": {"q": "canary"}}
    body = {"url": "https://www.example.com/p?key=canary", "params": params | {"json": {"password": "canary"}}}
    job = accepted(body | {"callback_url": "https://me.example/canary?token=canary"})
    assert b"canary" not in msgspec.json.encode(job)
    assert (job.url, job.callback_url) == ("https://www.example.com/p?key=***", "https://me.example/***")
    row = open_request(RING, {"url": job.url, "params": job.params, "sealed": job.sealed, "job_id": job.id})
    assert row["url"] == body["url"]
    assert (row["params"]["headers"], row["params"]["query"]) == (params["headers"], params["query"])
    assert row["params"]["json"] == {"value": {"password": "canary"}}
    assert callback_of(job) == "https://me.example/canary?token=canary"


@pytest.mark.req("NFR-12")
def test_a_job_without_secrets_has_nothing_sealed() -> None:
    job = accepted({"callback_url": "https://me.example/", "params": {"headers": {"Accept": "text/html"}}})
    assert (job.sealed, job.callback_sealed, job.callback_url) == (None, None, "https://me.example/")
