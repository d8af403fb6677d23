"""A whole service that was given secrets in every place, and nothing that it shows or keeps holds one (NFR-12)."""

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import boto3
import psycopg
import pytest
import redis
import requests

from scrapejobs.adapters.embedded import Servers
from tests.e2e.service import Service
from tests.e2e.waiting import wait_until

PLACES = ("header", "cookie", "query", "url", "body", "json", "callback", "signature", "set-cookie", "location", "echo")
CANARIES = {place: f"{place}-canary/5f2c+71=" for place in PLACES}
PASSWORD = "a-password-for-this-test"


class Outside(ThreadingHTTPServer):
    """A target that redirects with a token, sets cookies and sends back what it was sent; and a receiver."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.received: list[bytes] = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: Outside

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        all_of_it = f"{self.path}\n{self.headers}\n".encode() + body
        if self.path.startswith("/hook/"):
            self.server.received.append(str(self.headers).encode() + body)
            return self._answer(200, b"")
        self.server.asked.append(all_of_it.decode())
        if self.path.startswith("/moved"):
            return self._answer(307, b"", Location=f"/page?code={quote(CANARIES['location'], safe='')}")
        return self._answer(401 if self.path.startswith("/refused") else 200, all_of_it)

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", f"s={CANARIES['set-cookie']}")
        self.send_header("X-Echo", str(self.headers.get("X-Api-Key")))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def outside() -> Iterator[Outside]:
    server = Outside()
    yield server
    server.shutdown()
    server.server_close()


def job_for(outside: Outside, path: str) -> dict[str, Any]:
    """A job with a secret in every place where one can be."""
    kind = "json" if path == "/moved" else "body"
    content = {"json": {"password": CANARIES["json"]}} if kind == "json" else {"body": CANARIES["body"]}
    callback = f"/hook/{quote(CANARIES['callback'], safe='')}?sig={quote(CANARIES['signature'], safe='')}"
    return {
        "url": outside.url(f"{path}?key={quote(CANARIES['url'], safe='')}"),
        "callback_url": outside.url(callback),
        "params": {
            "method": "POST",
            "headers": {
                "Authorization": f"Bearer {CANARIES['header']}",
                "Cookie": f"a={CANARIES['cookie']}",
                "X-Api-Key": CANARIES["echo"],
            },
            "query": {"token": CANARIES["query"]},
            **content,
        },
    }


def forms(text: str) -> set[bytes]:
    """What a secret may be written in: plain, percent-encoded, hexadecimal, base64 at each of its three places."""
    found = {text, quote(text, safe=""), quote(text), text.encode().hex(), text.encode().hex().upper()}
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + text.encode()).decode()
        found.add(coded[4 if before else 0 : len(coded) - 4])
    return {form.encode() for form in found}


def holders(things: dict[str, bytes]) -> set[tuple[str, str]]:
    """Which things hold which canary."""
    return {
        (name, place)
        for name, content in things.items()
        for place, canary in CANARIES.items()
        if any(form in content for form in forms(canary))
    }


def database(service: Service) -> dict[str, bytes]:
    """Every table, as text."""
    names = service.rows(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
        " AND relnamespace = 'public'::regnamespace"
    )
    return {
        name: "\n".join(row for (row,) in service.rows(f'SELECT to_jsonb(t)::text FROM "{name}" t')).encode()  # noqa: S608
        for (name,) in names
    }


def answers(service: Service, ids: list[str]) -> dict[str, bytes]:
    """What the API says of the jobs."""
    paths = ["/jobs", "/events", "/openapi.json"]
    paths += [f"/jobs/{id_}{more}" for id_ in ids for more in ("", "/attempts", "/deliveries", "/result")]
    return {path: service.ask("GET", path).content for path in paths}


def make_operator(service: Service) -> None:
    from django.contrib.auth.hashers import make_password

    with psycopg.connect(service.servers.environment["DATABASE_URL"], autocommit=True) as conn:
        conn.execute(
            "INSERT INTO auth_user (username, password, first_name, last_name, email, is_superuser, is_staff,"
            " is_active, date_joined) VALUES ('operator', %s, '', '', '', true, true, true, clock_timestamp())",
            [make_password(PASSWORD)],
        )


def admin_pages(service: Service, ids: list[str]) -> dict[str, bytes]:
    """What an operator sees of them."""
    make_operator(service)
    base = f"http://127.0.0.1:{service.port}"
    with requests.Session() as person:
        token = person.get(f"{base}/admin/login/", timeout=10).cookies["csrftoken"]
        login = {"username": "operator", "password": PASSWORD, "csrfmiddlewaretoken": token}
        assert person.post(f"{base}/admin/login/", data=login, timeout=10, allow_redirects=False).status_code == 302
        paths = [f"/admin/store/{model}/" for model in ("job", "deadletter", "delivery", "host", "service")]
        paths += ["/admin/store/deadletter/groups/"] + [f"/admin/store/job/{id_}/change/" for id_ in ids]
        pages = {path: person.get(f"{base}{path}", timeout=10) for path in paths}
    assert {path: page.status_code for path, page in pages.items()} == dict.fromkeys(paths, 200)
    return {path: page.content for path, page in pages.items()}


def stored(servers: Servers) -> dict[str, bytes]:
    """Keys and metadata of the objects, not what is in them: that is the client's."""
    env = servers.environment
    s3 = boto3.client(
        "s3",
        endpoint_url=env["S3_ENDPOINT_URL"],
        region_name="us-east-1",
        aws_access_key_id=env["S3_ACCESS_KEY_ID"],
        aws_secret_access_key=env["S3_SECRET_ACCESS_KEY"],
    )
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket="scrapejobs").get("Contents", [])]
    assert keys
    found = {f"object {key}": str((key, s3.head_object(Bucket="scrapejobs", Key=key))).encode() for key in keys}
    s3.close()
    return found


def cached(servers: Servers) -> dict[str, bytes]:
    with redis.Redis.from_url(servers.environment["REDIS_URL"]) as client:
        return {f"cache {key!r}": client.dump(key) or b"" for key in client.scan_iter()}


@pytest.mark.req("NFR-12")
def test_no_secret_of_a_job_is_in_anything_that_the_service_shows_or_keeps(
    service: Service, servers: Servers, outside: Outside
) -> None:
    roles = service.start_all()
    ids = [service.ask("POST", "/jobs", json=job_for(outside, path)).json()["id"] for path in ("/moved", "/refused")]
    assert [service.wait_for(id_, "succeeded", "failed")["status"] for id_ in ids] == ["succeeded", "failed"]
    wait_until(lambda: len(outside.received) == 2, what="both webhooks")
    service.manage("hosts", "pause", "paused.example")
    wanted = job_for(outside, "/never") | {"url": f"https://paused.example/?k={CANARIES['url']}"}
    waiting = service.ask("POST", "/jobs", json=wanted)
    refused = service.ask("POST", "/jobs", json={"url": f"https://u:{CANARIES['url']}@a.example/"})
    assert (waiting.status_code, refused.status_code) == (202, 400)
    ids.append(waiting.json()["id"])
    assert holders({"the target": "\n".join(outside.asked).encode()}) == {  # all of it came where it belongs
        ("the target", place) for place in PLACES if place not in {"callback", "signature"}
    }
    things = {
        **database(service),
        **answers(service, ids),
        **admin_pages(service, ids),
        **stored(servers),
        **cached(servers),
        "refused": refused.content,
        "webhooks": b"\n".join(outside.received),
        "dead letters": service.manage("dead_letters", "show", ids[1], "--json").encode(),
    }
    for role in roles:
        metrics = requests.get(f"http://127.0.0.1:{role.metrics_port}/metrics", timeout=10)
        things[f"metrics of {role.log.name}"] = metrics.content
    service.close()
    things |= {role.log.name: role.log.read_bytes() for role in roles}
    assert all(things[name] for name in ("job", "attempt", "delivery", "/jobs", "webhooks"))
    assert holders(things) == set()
