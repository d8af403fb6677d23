"""Headers and queries."""

from typing import Annotated

import msgspec
import pytest
from django.test import RequestFactory
from msgspec import Meta
from rest_framework.request import Request

from scrapejobs.gateway.problems import Problem
from scrapejobs.gateway.reading import check_body, idempotency_key, query_as


class Query(msgspec.Struct, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=9)] = 5
    tag: dict[str, str] = {}


def request(query: str = "", **meta: str) -> Request:
    return Request(RequestFactory().get(f"/x?{query}", **meta))  # type: ignore[arg-type]


@pytest.mark.req("FR-2")
@pytest.mark.parametrize(
    ("value", "key"), [("k-1", "k-1"), ('"k-1"', "k-1"), ('"a,b"', "a,b"), ("!" * 255, "!" * 255), ("~", "~")]
)
def test_a_key_is_bare_or_quoted(value: str, key: str) -> None:
    assert idempotency_key(request(HTTP_IDEMPOTENCY_KEY=value)) == key


@pytest.mark.req("FR-2")
@pytest.mark.parametrize(
    "value",
    ["", '""', '"', "a b", '"a b"', "a,b", '"a","b"', '"a', 'a"', "a\\b", '"\\""', "é", "\x7f", "k" * 256, "k\n"],
)
def test_what_is_no_key_is_refused(value: str) -> None:
    with pytest.raises(Problem, match="invalid-idempotency-key"):
        idempotency_key(request(HTTP_IDEMPOTENCY_KEY=value))


@pytest.mark.req("FR-6")
def test_a_query_is_read_by_name() -> None:
    found = query_as(request("limit=9&tag.a=1&tag.b.c=%C3%A9&tag.e="), Query, maps=("tag",))
    assert (found.limit, found.tag) == (9, {"a": "1", "b.c": "é", "e": ""})


@pytest.mark.req("FR-6")
@pytest.mark.parametrize(
    "query",
    [
        "limit=1&limit=1",
        "tag.a=1&tag.a=1",
        "tag=1",
        "x=1",
        "limit=",
        "limit=01",
        "limit=%2B1",
        "limit=1e0",
        "limit=1.0",
        "limit=%EF%BC%91",
        "limit=1%0A",
        "limit=10",
        "limit=0",
        "a=%ff",
        "tag.a=%00",
        "&".join(f"tag.{i}=" for i in range(65)),
    ],
)
def test_a_query_that_is_not_plainly_right_is_refused(query: str) -> None:
    with pytest.raises(Problem, match="invalid-request"):
        query_as(request(query), Query, maps=("tag",))


@pytest.mark.req("FR-1")
@pytest.mark.parametrize(
    ("meta", "name"),
    [
        ({"CONTENT_LENGTH": "262145"}, "payload-too-large"),
        ({"CONTENT_LENGTH": "9" * 5000}, "payload-too-large"),
        ({"CONTENT_LENGTH": "-1"}, "bad-request"),
        ({"CONTENT_LENGTH": "1e3"}, "bad-request"),
        ({"HTTP_TRANSFER_ENCODING": "chunked"}, "length-required"),
        ({"HTTP_CONTENT_ENCODING": "br"}, "unsupported-media-type"),
    ],
)
def test_a_body_is_refused_by_its_headers(meta: dict[str, str], name: str) -> None:
    with pytest.raises(Problem, match=name):
        check_body(request(**meta))
