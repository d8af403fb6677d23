"""Looks at every setting, server and role, and says what to do about what is wrong (`manage.py doctor`)."""

import asyncio
import hashlib
import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import redis
import requests
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from redis.backoff import NoBackoff
from redis.retry import Retry

from scrapejobs.adapters.storage import StorageUnavailable, object_store
from scrapejobs.config import Config
from scrapejobs.ops.api_client import direct_session
from scrapejobs.ops.checks import faults
from scrapejobs.ops.liveness import state_of
from scrapejobs.ops.settings_page import shown
from scrapejobs.store import clock, dispatch, partitions, services
from scrapejobs.store.ids import new_id
from scrapejobs.store.run import run

OLDEST_POSTGRES: Final = 150_000
CLOCK_TOLERANCE_S: Final = 2.0
DAYS_AHEAD: Final = 2
PATIENCE_S: Final = 5.0
LOOPS: Final = ("publisher", "scheduler", "worker", "courier")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was found, and (when it is wrong) what to do."""

    what: str
    found: str
    advice: str = ""

    @property
    def is_wrong(self) -> bool:
        return bool(self.advice)


def examine(config: Config) -> Iterator[Finding]:
    """Every finding, as it is made. Never raises for what it finds."""
    yield from _settings(config)
    try:
        yield from _database(config)
    except DatabaseError as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        yield Finding("database", reason, f"start PostgreSQL, or mend DATABASE_URL ({_url(config, 'database_url')})")
    yield _valkey(config)
    yield _object_store(config)
    yield _gateway(config)


def _settings(config: Config) -> Iterator[Finding]:
    wrong = [Finding("settings", fault.msg, fault.hint or "") for fault in faults(config)]
    yield from wrong or [Finding("settings", f"{len(Config.model_fields)} read, none in another's way")]


def _database(config: Config) -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int, current_setting('server_version')")
        number, version = cursor.fetchone()
    old = "" if number >= OLDEST_POSTGRES else "use PostgreSQL 15 or newer"
    yield Finding("database", f"PostgreSQL {version} at {_url(config, 'database_url')}", old)
    yield _clock()
    migrations = MigrationExecutor(connection)
    missing = migrations.migration_plan(migrations.loader.graph.leaf_nodes())
    if missing:
        yield Finding("tables", f"{len(missing)} migration(s) not applied", "run `manage.py migrate`")
        return
    yield Finding("tables", "every migration is applied")
    yield _partitions()
    yield from _roles(config)
    yield _dispatcher()


def _clock() -> Finding:
    before = time.time()
    there = run(clock.now()).timestamp()
    after = time.time()
    off_s = there - (before + after) / 2
    advice = "" if abs(off_s) <= CLOCK_TOLERANCE_S else "set both clocks by NTP: ids and signed links go by the time"
    return Finding("clock", f"{off_s:+.3f} s between the database and this machine", advice)


def _partitions() -> Finding:
    days = run(partitions.days())
    moment = run(clock.now())
    today = moment.astimezone(UTC).date()
    missing = [day for offset in range(DAYS_AHEAD + 1) if (day := today + timedelta(days=offset)) not in days]
    if missing:
        found = f"none for {', '.join(day.isoformat() for day in missing)}"
        return Finding("partitions", found, "start a scheduler: it makes them; its log says why when it cannot")
    return Finding("partitions", f"made ahead until {max(days).isoformat()}")


def _roles(config: Config) -> Iterator[Finding]:
    rows = run(services.standing())
    states = [(row["role"], state_of(row, alive_s=config.alive_s)) for row in rows]
    for role in LOOPS:
        n_live = states.count((role, "live"))
        advice = "" if n_live else f"start one: `manage.py run_role {role}`, or all by `make up`"
        yield Finding(role, f"{n_live} live", advice)
    n_expired = sum(row["expired"] for row in rows)
    late = "a scheduler's sweeper takes them back within SCRAPEJOBS_SWEEP_S; see its log" if n_expired else ""
    yield Finding("leases", f"{n_expired} past their end", late)


def _dispatcher() -> Finding:
    holder = run(dispatch.holder())
    return Finding("dispatcher", holder or "nobody dispatches", "" if holder else "start a scheduler")


def _valkey(config: Config) -> Finding:
    url = config.redis_url.get_secret_value()
    try:
        with redis.Redis.from_url(
            url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S, retry=Retry(NoBackoff(), 0)
        ) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        return Finding("valkey", type(error).__name__, "start Valkey, or mend REDIS_URL; until then loops only poll")
    return Finding("valkey", f"answers at {_url(config, 'redis_url')}")


def _object_store(config: Config) -> Finding:
    """Puts, reads by a signed link, and deletes, as the product does."""
    where = f"bucket {config.s3_bucket} at {_url(config, 's3_endpoint_url')}"
    try:
        asyncio.run(_round_trip(config))
    except (StorageUnavailable, requests.RequestException, TimeoutError) as error:
        return Finding(
            "object store", f"{where}: {error}", "check the S3_* settings, that the bucket exists, the key's rights"
        )
    return Finding("object store", f"{where}: put, signed get and delete work")


async def _round_trip(config: Config) -> None:
    """Raises when a byte does not come back through a signed link."""
    store, key, body = object_store(config), f"doctor/{new_id()}", datetime.now(UTC).isoformat().encode()
    sha256 = hashlib.sha256(body).hexdigest()
    try:
        async with asyncio.timeout(2 * PATIENCE_S):
            await store.put(
                key,
                io.BytesIO(body),
                size=len(body),
                sha256=sha256,
                content_type="text/plain",
            )
            link = store.presign_get(key, expires_s=60, filename="doctor")
            answer = await asyncio.to_thread(_get, link)
            await store.delete(key)
        if answer.content != body:
            raise StorageUnavailable(f"a signed link answered {answer.status_code}, not the bytes")
    finally:
        await store.close()


def _gateway(config: Config) -> Finding:
    url = config.api_url or f"http://127.0.0.1:{config.port}"
    try:
        answer = _get(f"{url.rstrip('/')}/healthz")
    except requests.RequestException as error:
        advice = "start one: `manage.py run_role gateway`, or mend SCRAPEJOBS_API_URL"
        return Finding("gateway", f"{url}: {type(error).__name__}", advice)
    return Finding("gateway", f"{url} answers {answer.status_code}", "" if answer.ok else "see the gateway's log")


def _get(url: str) -> requests.Response:
    with direct_session() as session:
        return session.get(url, timeout=PATIENCE_S)


def _url(config: Config, field: str) -> str:
    return shown(field, getattr(config, field))
