"""The target and the receiver do what their paths say, and have it in their logs before they answer."""

import base64
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
from standardwebhooks import Webhook

from tests.chaos.beside import Beside
from tests.chaos.journal import lines_of
from tests.chaos.pages import PAGE_BYTES, body_of
from tests.e2e.waiting import wait_until

SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four ").decode()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Beside]:
    started = Beside("tests.chaos.target", tmp_path / "target.jsonl", "--addresses", "2")
    yield started
    started.close()


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Beside]:
    started = Beside("tests.chaos.receiver", tmp_path / "receiver.jsonl", "--secret", SECRET)
    yield started
    started.close()


def get(target: Beside, path: str, *, host: int = 1) -> requests.Response:
    return requests.get(f"http://127.0.0.{host}:{target.port}{path}", timeout=10)


def requests_in(target: Beside) -> list[dict[str, Any]]:
    return [line for line in lines_of(target.log) if line["what"] == "request"]


def ends_in(target: Beside) -> list[str]:
    return [line["how"] for line in lines_of(target.log) if line["what"] == "end"]


@pytest.mark.parametrize("kind", ["page", "slow", "nul"])
def test_a_page_has_bytes_of_its_own(target: Beside, kind: str) -> None:
    answer = get(target, f"/{kind}/1", host=2)
    assert answer.content == body_of(f"/{kind}/1") != body_of(f"/{kind}/2")
    assert len(answer.content) == PAGE_BYTES
    assert [(line["host"], line["path"]) for line in requests_in(target)] == [("127.0.0.2", f"/{kind}/1")]
    wait_until(lambda: ends_in(target) == ["answered"], what="the end of the exchange")


@pytest.mark.parametrize(
    ("kind", "statuses"),
    [("gone", [404, 404]), ("down", [503, 503, 503]), ("busy", [503, 503, 200]), ("later", [429, 200])],
)
def test_a_path_answers_in_turn_as_its_kind_says(target: Beside, kind: str, statuses: list[int]) -> None:
    answers = [get(target, f"/{kind}/1") for _ in statuses]
    assert [answer.status_code for answer in answers] == statuses
    assert answers[0].headers.get("Retry-After") == ("1" if kind == "later" else None)


def test_a_cut_page_ends_in_mid_body_once(target: Beside) -> None:
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        get(target, "/cut/1")
    assert get(target, "/cut/1").content == body_of("/cut/1")
    assert ends_in(target)[0] == "cut"


def test_a_client_that_leaves_a_hanging_page_is_noticed(target: Beside) -> None:
    with socket.create_connection(("127.0.0.1", target.port)) as client:
        client.sendall(b"GET /hang/1 HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: requests_in(target), what="the request in the log")
        assert ends_in(target) == []
    wait_until(lambda: ends_in(target) == ["closed"], what="the closed connection in the log")


@pytest.mark.parametrize(
    ("secret", "is_valid"), [(SECRET, True), ("whsec_" + base64.b64encode(b"x" * 24).decode(), False)]
)
def test_the_receiver_notes_whether_a_call_is_signed(receiver: Beside, secret: str, is_valid: bool) -> None:
    body, now = '{"id":"j1"}', datetime.now(UTC)
    headers = {
        "webhook-id": "e1",
        "webhook-timestamp": str(int(time.time())),
        "webhook-signature": Webhook(secret).sign("e1", now, body),
    }
    statuses = [
        requests.post(f"http://127.0.0.1:{receiver.port}/fail/1", body, headers=headers, timeout=10).status_code
        for _ in range(2)
    ]
    assert statuses == [500, 200]
    found = [(line["event_id"], line["job_id"], line["is_valid"], line["status"]) for line in lines_of(receiver.log)]
    assert found == [("e1", "j1", is_valid, 500), ("e1", "j1", is_valid, 200)]
