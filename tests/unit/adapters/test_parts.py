"""Uploads in parts: an answer that says no in spite of its 200."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from scrapejobs.adapters.parts import PART_BYTES, Unfinished, put_in_parts

STARTED = "<InitiateMultipartUploadResult><UploadId>a+b/1</UploadId></InitiateMultipartUploadResult>"
DONE = "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
FAILED = "<Error><Code>InternalError</Code></Error>"


class Answer:
    """What a store answers, as far as the upload looks at it."""

    def __init__(self, text: str, number: int) -> None:
        self._text = text
        self.headers = {"ETag": f'"tag-{number}"'}

    async def text(self) -> str:
        return self._text


class Store:
    """Answers in order of what is asked, and notes it."""

    def __init__(self, started: str = STARTED, done: str = DONE) -> None:
        self._answers = {"uploads=": started, "uploadId=a%2Bb%2F1": done}
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[bytes] = []

    @asynccontextmanager
    async def ask(self, method: str, *, query: str, data: Any = None, **_: Any) -> AsyncIterator[Any]:
        self.asked.append((method, query))
        self.bodies.append(data.read() if data is not None else b"")
        yield Answer(self._answers.get(query, ""), len(self.asked))


@pytest.mark.req("FR-8")
async def test_a_body_goes_in_parts_that_are_named_in_order_at_the_end() -> None:
    store, body = Store(), bytes(PART_BYTES) + b"rest"
    await put_in_parts(store.ask, io.BytesIO(body), content_type="text/html")
    upload = "uploadId=a%2Bb%2F1"
    sent = [("PUT", f"partNumber={number}&{upload}") for number in (1, 2)]
    assert store.asked == [("POST", "uploads="), *sent, ("POST", upload)]
    assert b"".join(store.bodies[1:3]) == body
    first, second = store.bodies[3].find(b'<PartNumber>1</PartNumber><ETag>"tag-2"'), store.bodies[3].find(b'"tag-3"')
    assert 0 < first < second


@pytest.mark.req("P3")
@pytest.mark.parametrize(("store", "given_up"), [(Store(done=FAILED), True), (Store(started=FAILED), False)])
async def test_an_answer_of_200_that_tells_of_an_error_is_a_failure(store: Store, given_up: bool) -> None:
    with pytest.raises(Unfinished):
        await put_in_parts(store.ask, io.BytesIO(b"body"), content_type="text/html")
    assert (("DELETE", "uploadId=a%2Bb%2F1") in store.asked) == given_up
