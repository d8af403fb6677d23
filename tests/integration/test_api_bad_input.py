"""Every case of tests/data/bad-input.jsonl: one request each, what it is answered with, and what must hold besides."""

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from scrapejobs.store.keys import parse_key, revoke_key
from tests.integration.world import Client, Reply, call, make_client, make_job, old_id, one, post_job, put_object

CASES = [
    json.loads(line) for line in (Path(__file__).parent.parent / "data" / "bad-input.jsonl").read_text().splitlines()
]
BY_ID = {case["id"]: case for case in CASES}
GOOD_URL = "https://www.example.com/"
SECRET = "hush-hush"
PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")

pytestmark = [pytest.mark.django_db, pytest.mark.req("FR-1")]


def _job(**params: Any) -> bytes:
    return json.dumps({"url": GOOD_URL, "params": params}).encode()


def _padded(size: int) -> bytes:
    frame = '{"url":"%s","params":{"a":"%s"}}'
    return (frame % (GOOD_URL, "a" * (size - len(frame % (GOOD_URL, ""))))).encode()


def _big_number(digits: int) -> bytes:
    return f'{{"url":"{GOOD_URL}","params":{{"a":{"9" * digits}}}}}'.encode()


def _nested(depth: int) -> bytes:
    return f'{{"url":"{GOOD_URL}","params":{"[" * depth}{"]" * depth}}}'.encode()


GENERATED: dict[str, Callable[[], bytes]] = {
    "in-010": lambda: gzip.compress(json.dumps({"url": GOOD_URL}).encode()),
    "in-021": lambda: json.dumps({"url": GOOD_URL}).encode("utf-16"),
    "in-031": lambda: _padded(256 * 1024 + 1),
    "in-032": lambda: _padded(60_000_000),
    "in-037": lambda: _nested(900),
    "in-038": lambda: _nested(5000),
    "in-039": lambda: b'{"a":' * 50_000,  # as deep as the 256 KiB of in-031 leave room for
    "in-040": lambda: _job(**{f"k{i}": 1 for i in range(10_000)}),
    "in-041": lambda: _big_number(5000),
    "in-042": lambda: _big_number(4000),
    "in-097": lambda: _job(headers={"X": "a" * 8193}),
    "in-098": lambda: _job(headers={f"X-{i}": "a" for i in range(65)}),
}


@dataclass
class World:
    """What the cases speak of: the names in braces."""

    a: Client
    b: Client
    names: dict[str, str]

    def name(self, what: str) -> str:
        if what not in self.names:
            self.names[what] = str(self._made(what))
        return self.names[what]

    def filled(self, text: str) -> str:
        """The text with the names in braces replaced; other braces stay."""
        return PLACEHOLDER.sub(lambda found: self.name(found[1]), text)

    def _made(self, what: str) -> Any:
        if what in STATES:
            return make_job(self.a, STATES[what])
        return OTHERS[what](self)


STATES = {
    "job": "queued",
    "job_queued": "queued",
    "job_running": "running",
    "job_failed": "failed",
    "job_cancelled": "cancelled",
    "job_ok": "succeeded",
    "job_ok_object_deleted": "succeeded",
}


def _upper(world: World) -> str:
    return str(make_job(world.a)).upper()


def _with_secrets(world: World) -> str:
    params = {
        "headers": {"Authorization": SECRET, "Cookie": SECRET, "X-Api-Key": SECRET, "Accept": "text/html"},
        "query": {"token": SECRET},
        "body": SECRET,
        "method": "POST",
    }
    reply = post_job(world.a.key, {"url": GOOD_URL, "params": params})
    return str(reply.json["id"])


def _cursor(client: Client) -> str:
    make_job(client)
    make_job(client)
    return str(call("GET", "/jobs?limit=1", key=client.key).json["next_cursor"])


def _bitflip(world: World) -> str:
    cursor = _cursor(world.a)
    return cursor[:-1] + chr(ord(cursor[-1]) ^ 1)


def _expired(world: World) -> UUID:
    return make_job(world.a, "succeeded", id_=old_id(32))


def _revoked(world: World) -> str:
    key = make_client(world.a.name).key
    credential = parse_key(key)
    assert credential is not None
    revoke_key(credential.public_id)
    return key


OTHERS: dict[str, Callable[[World], Any]] = {
    "key_a": lambda world: world.a.key,
    "key_revoked": _revoked,
    "key_readonly": lambda world: make_client(world.a.name, "read").key,
    "api_host": lambda world: "127.0.0.1:8000",  # noqa: ARG005
    "LF": lambda world: "\n",  # noqa: ARG005
    "etag": lambda world: call("GET", f"/jobs/{world.name('job')}", key=world.a.key).headers["ETag"],
    "job_upper": _upper,
    "job_of_b": lambda world: make_job(world.b),
    "job_with_auth_header": _with_secrets,
    "job_expired": _expired,
    "cursor": lambda world: _cursor(world.a),
    "cursor_of_b": lambda world: _cursor(world.b),
    "cursor_bitflip": _bitflip,
}


def _send(world: World, case: dict[str, Any], body: bytes | None = None) -> Reply:
    if body is None:
        body = GENERATED[case["id"]]() if "body_generator" in case else world.filled(case.get("body", "")).encode()
    headers = {name: world.filled(value) for name, value in case["headers"].items()}
    return call(case["method"], world.filled(case["path"]), headers=headers, body=body)


BEFORE: dict[str, Callable[[World], Reply]] = {
    "in-120": lambda world: _send(world, BY_ID["in-119"]),
    "in-121": lambda world: _send(world, BY_ID["in-119"], b'{ "priority":"low" ,\n"url":"https://www.example.com/"}'),
    "in-122": lambda world: _send(world, BY_ID["in-119"]),
    "in-128": lambda world: _send(world, BY_ID["in-128"], b'{"url": ""}'),
    "in-221": lambda world: call("POST", f"/jobs/{world.name('job_cancelled')}/cancel", key=world.a.key),
}
BODY_INSTEAD = {"in-121": b'{"url":"https://www.example.com/","priority":"low"}'}


def _n_jobs() -> int:
    return int(one("SELECT count(*) FROM job"))


def _is_same_receipt(world: World, reply: Reply, before: Reply | None) -> None:
    assert before is not None
    assert reply.content == before.content
    assert reply.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in before.headers
    assert _n_jobs() == 1


def _is_masked(world: World, reply: Reply, before: Reply | None) -> None:
    shown = reply.json["params"]
    assert shown["headers"] == {"Authorization": "***", "Cookie": "***", "X-Api-Key": "***", "Accept": "text/html"}
    assert shown["query"] == {"token": "***"}
    attempts = call("GET", f"/jobs/{world.name('job_with_auth_header')}/attempts", key=world.a.key)
    listed = call("GET", "/jobs", key=world.a.key)
    assert not any(SECRET.encode() in answer.content for answer in (reply, attempts, listed))


def _is_like_unknown(world: World, reply: Reply, before: Reply | None) -> None:
    unknown = call("GET", "/jobs/3fa85f64-5717-4562-b3fc-2c963f66afa6", key=world.a.key)
    assert reply.content == unknown.content


def _is_unchanged(world: World, reply: Reply, before: Reply | None) -> None:
    assert one("SELECT final_state FROM job WHERE id = %s", world.name("job_of_b")) is None


def _is_cancelled(world: World, reply: Reply, before: Reply | None) -> None:
    job_id = reply.json["id"]
    assert one("SELECT final_state FROM job WHERE id = %s", job_id) == "cancelled"
    assert one("SELECT count(*) FROM queued WHERE job_id = %s", job_id) == 0


def _is_unauthenticated(world: World, reply: Reply, before: Reply | None) -> None:
    assert reply.headers["WWW-Authenticate"].startswith("Bearer ")
    assert reply.content == call("GET", "/jobs").content


CHECKS: dict[str, Callable[[World, Reply, Reply | None], None]] = {
    **dict.fromkeys(("in-120", "in-121"), _is_same_receipt),
    **dict.fromkeys(("in-137", "in-138", "in-139", "in-140", "in-141", "in-143", "in-146"), _is_unauthenticated),
    **dict.fromkeys(("in-192", "in-215"), _is_like_unknown),
    **dict.fromkeys(("in-219", "in-220", "in-226"), _is_cancelled),
    "in-203": _is_masked,
    "in-224": _is_unchanged,
}


@pytest.fixture
def world(db: None) -> World:
    return World(make_client("a"), make_client("b"), {})


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"], marks=pytest.mark.case(case["id"])) for case in CASES]
)
def test_case_is_answered_as_written(case: dict[str, Any], world: World) -> None:
    before = BEFORE[case["id"]](world) if case["id"] in BEFORE else None
    reply = _send(world, case, BODY_INSTEAD.get(case["id"]))
    assert (reply.status, reply.problem) == (case["expect_status"], case["expect_problem"])
    assert reply.headers["X-Request-Id"].isalnum()
    assert "Access-Control-Allow-Origin" not in reply.headers
    assert ("Allow" in reply.headers) or reply.status != 405
    assert ("Retry-After" in reply.headers) or reply.problem != "result-not-ready"
    assert ("ETag" in reply.headers) or case["id"] not in {"in-204", "in-206"}
    if case["method"] == "POST" and case["path"] == "/jobs" and reply.status >= 400 and before is None:
        assert _n_jobs() == 0
    if case["id"] in CHECKS:
        CHECKS[case["id"]](world, reply, before)


@pytest.mark.case("in-061")
def test_a_refused_url_is_not_quoted(world: World) -> None:
    reply = post_job(world.a.key, {"url": "https://u:p4ssw0rd@www.example.com/"})
    assert reply.problem == "invalid-url"
    assert b"p4ssw0rd" not in reply.content


@pytest.mark.req("FR-8")
def test_a_result_that_is_there_is_linked(world: World) -> None:
    job_id = make_job(world.a, "succeeded")
    put_object(job_id)
    reply = call("GET", f"/jobs/{job_id}/result", key=world.a.key)
    assert (reply.status, reply.json["size"], reply.json["content_type"]) == (200, 4, "text/plain")
