"""Jobs in every state, made by the verbs themselves, and a caller that speaks WSGI as a server does."""

import io
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import unquote_to_bytes
from uuid import UUID

import boto3
import msgspec
from django.conf import settings
from django.db import connection
from django.test.client import ClientHandler

from scrapejobs.domain.ids import object_key, uuid7
from scrapejobs.domain.outcome import Exchange, Outcome, Stored, StoredResult, failure
from scrapejobs.domain.retry import RetryPolicy
from scrapejobs.store import partitions, transitions
from scrapejobs.store.ids import new_id
from scrapejobs.store.keys import SCOPES, issue_key
from scrapejobs.store.models import Job
from scrapejobs.store.reports import ended
from scrapejobs.store.run import run
from scrapejobs.store.sealing import Ring, open_request
from scrapejobs.store.tenants import ensure_tenant
from scrapejobs.store.transitions import NewJob

SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of b"test"
POLICY = RetryPolicy(base_s=2.0, cap_s=600.0, retry_after_cap_s=3600.0, max_lost=3)
PARAMS: dict[str, Any] = {
    "method": "GET",
    "headers": {},
    "query": {},
    "body": None,
    "json": None,
    "timeout_s": 60.0,
    "max_bytes": 1024,
    "follow_redirects": True,
    "accept_statuses": [],
    "retry_unsafe": False,
    "expect": None,
}


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.content)

    @property
    def problem(self) -> str | None:
        if self.headers.get("Content-Type") != "application/problem+json":
            return None
        return str(self.json["type"]).rpartition("/")[2]


@cache
def _application() -> Any:
    from scrapejobs.wsgi import application

    return application


def call(
    method: str, target: str, *, headers: dict[str, str] | None = None, body: bytes = b"", key: str | None = None
) -> Reply:
    """One request, its environ as PEP 3333 wants it: bytes as latin-1, the path decoded, the query not."""
    path, _, query = target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "HTTP_HOST": "127.0.0.1:8000",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.url_scheme": "http",
    }
    if body:
        environ["CONTENT_LENGTH"] = str(len(body))
    for name, value in {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}.items():
        variable = name.upper().replace("-", "_")
        environ[variable if variable == "CONTENT_TYPE" else f"HTTP_{variable}"] = value.encode().decode("latin-1")
    if connection.in_atomic_block:  # rolled back after the test: the request must not close the connection
        response = ClientHandler()(environ)
        return Reply(response.status_code, dict(response.headers), response.getvalue())
    started: list[Any] = []
    answer = _application()(environ, lambda *head: started.extend(head))
    content = b"".join(answer)
    answer.close()
    return Reply(int(started[0].split()[0]), dict(started[1]), content)


def post_job(key: str, body: Any, **headers: str) -> Reply:
    given = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return call("POST", "/jobs", key=key, headers=given, body=msgspec.json.encode(body))


@dataclass(frozen=True, slots=True)
class Client:
    """A tenant and a key of it."""

    name: str
    key: str = field(repr=False)
    tenant_id: int


def make_client(name: str, *scopes: str) -> Client:
    tenant = ensure_tenant(name)
    return Client(name, str(issue_key(tenant, scopes or SCOPES)[1]), tenant.pk)


def make_job(client: Client, state: str = "queued", *, id_: UUID | None = None, **changes: Any) -> UUID:
    """A job of that state: unpublished, queued, running, succeeded, failed, cancelled or delayed."""
    fields: dict[str, Any] = {
        "id": id_ or new_id(),
        "tenant_id": client.tenant_id,
        "priority": 1,
        "url": "https://www.example.com/",
        "host": "www.example.com",
        "params": PARAMS,
        "callback_url": None,
        "tags": {},
        "max_attempts": 5,
        "deadline_s": 86_400.0,
    }
    job = NewJob(**fields | changes)
    run(transitions.submit(job))
    if state == "cancelled":
        run(transitions.cancel(job.id, tenant_id=client.tenant_id))
    if state in {"unpublished", "cancelled"}:
        return job.id
    publish(job.id)
    if state == "queued":
        return job.id
    claimed = start(job.id)
    outcomes: dict[str, Outcome] = {
        "succeeded": stored(claimed),
        "failed": failure("http_401", phase="headers", exchange=Exchange("headers", target_status=401)),
        "delayed": failure("http_503", phase="headers", exchange=Exchange("headers", target_status=503)),
    }
    if state in outcomes:
        end(claimed, outcomes[state])
    return job.id


def opened(job_id: UUID | str) -> dict[str, Any]:
    """URL and params of a job as its worker gets them, secrets and all."""
    job = Job.objects.get(pk=job_id)
    row = {"job_id": job.pk, "url": job.url, "params": job.params, "sealed": job.sealed}
    return open_request(Ring(settings.CONFIG.sealing_texts), row)


def publish(job_id: UUID) -> None:
    while run(transitions.publish(limit=1000)):
        pass
    assert one("SELECT count(*) FROM queued WHERE job_id = %s", job_id) == 1


def start(job_id: UUID) -> dict[str, Any]:
    """A queued job's claim by a worker; other jobs that are ready stay so."""
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH gone AS (DELETE FROM queued WHERE job_id = %s RETURNING *) INSERT INTO ready "
            "(seq, job_id, priority, tenant_id, host, queued_at) "
            "SELECT seq, job_id, priority, tenant_id, host, queued_at FROM gone",
            [job_id],
        )
    claimed = run(transitions.claim(worker_id=new_id(), worker="worker-1", limit=100, lease_s=60.0))
    assert [row["job_id"] for row in claimed] == [job_id]
    return claimed[0]


def end(claimed: dict[str, Any], outcome: Outcome) -> None:
    run(transitions.report([ended(claimed, outcome)], policy=POLICY, random=lambda: 0.5))


def stored(claimed: dict[str, Any]) -> Stored:
    key = object_key(job_id=claimed["job_id"], tenant_id=claimed["tenant_id"], seq=claimed["seq"])
    exchange = Exchange("body", target_status=200, bytes_read=4, address_family="ipv4", wire_requests=1)
    result = StoredResult(
        key=key,
        size=4,
        sha256=SHA256,
        content_type="text/plain",
        charset=None,
        headers=(),
        final_url="https://www.example.com/",
        status=200,
        complete="yes",
    )
    return Stored(result, exchange)


def put_object(job_id: UUID) -> None:
    config = settings.CONFIG
    s3 = boto3.client(
        "s3",
        endpoint_url=config.s3_endpoint_url,
        region_name=config.s3_region,
        aws_access_key_id=config.s3_access_key_id.get_secret_value(),
        aws_secret_access_key=config.s3_secret_access_key.get_secret_value(),
    )
    s3.put_object(Bucket=config.s3_bucket, Key=one("SELECT result_key FROM job WHERE id = %s", job_id), Body=b"test")
    s3.close()


def old_id(days: int) -> UUID:
    """An id of so many days ago, whose partition is there."""
    moment = datetime.now(UTC) - timedelta(days=days)
    with connection.cursor() as cursor:
        for statement in partitions.create_statements(moment.date(), days_ahead=0):
            cursor.execute(statement)
    return uuid7(unix_ms=int(moment.timestamp() * 1000), random_bits=7)


def one(query: str, *params: Any) -> Any:
    """The single value of a query."""
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        (row,) = cursor.fetchall()
        return row[0]
