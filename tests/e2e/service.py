"""The real roles as processes on real servers of their own, as an operator would start them."""

import base64
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
import requests

from scrapejobs.adapters.embedded import Servers, free_port
from scrapejobs.domain.webhook import new_secret
from scrapejobs.ops.local.supervisor import is_ready
from tests.e2e.waiting import wait_until
from tests.servers import SEALING_KEY

ROOT = Path(__file__).resolve().parent.parent.parent


class Role:
    """One process of the service."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], log: Path, metrics_port: int) -> None:
        self.metrics_port = metrics_port
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(argv, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        """kill -9"""
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        """SIGTERM, and the exit status."""
        self.process.terminate()
        return self.process.wait(40)


class Service:
    """Starts roles, speaks to the API and looks into the database."""

    def __init__(self, servers: Servers, directory: Path, **settings: str) -> None:
        self.servers = servers
        self._directory = directory
        self.port = free_port()
        self._env = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            **servers.environment,
            "DATA_DIR": os.devnull,
            "PORT": str(self.port),
            "SCRAPEJOBS_SECRET_KEY": "a-key-for-tests-and-nothing-else-0123456789",
            "SCRAPEJOBS_SEALING_KEYS": SEALING_KEY,
            "SCRAPEJOBS_EGRESS_ALLOW": "127.0.0.0/8",
            "SCRAPEJOBS_CALLBACK_ALLOW_HTTP": "true",
            "SCRAPEJOBS_HOST_RATE": "1000",
            "SCRAPEJOBS_HOST_BURST": "1000",
            "SCRAPEJOBS_RETRY_BASE_S": "0.2",
            **settings,
        }
        self._roles: list[Role] = []
        self._keys: dict[str, str] = {}

    # ---- processes

    def start(self, role: str, *options: str, **settings: str) -> Role:
        port = free_port()
        argv = [sys.executable, "manage.py", "run_role", role, *options, "--metrics-port", str(port)]
        log = self._directory / f"{len(self._roles)}-{role}.log"
        started = Role(argv, {**self._env, **settings}, log, port)
        self._roles.append(started)
        return started

    def start_all(self, *, workers: int = 1) -> list[Role]:
        """Every role; the workers come last."""
        roles = [self.start(role) for role in ("gateway", "publisher", "scheduler", "courier")]
        roles += [self.start("worker", "--name", f"w{n}") for n in range(workers)]
        for role in roles:
            self.wait_ready(role)
        return roles

    def wait_ready(self, role: Role) -> None:
        def ready() -> bool:
            assert role.process.poll() is None, role.log.read_text()[-3000:]
            return is_ready(role.metrics_port)

        wait_until(ready, what=f"{role.log.name} to be ready")

    def close(self) -> None:
        for role in self._roles:
            if role.process.poll() is None:
                role.process.send_signal(signal.SIGTERM)
        for role in self._roles:
            try:
                role.process.wait(10)
            except subprocess.TimeoutExpired:
                role.kill()

    def manage(self, *arguments: str) -> str:
        """A management command's stdout; its failure is the test's."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self._env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    # ---- the API

    def key(self, tenant: str) -> str:
        if tenant not in self._keys:
            self._keys[tenant] = self._new_key(tenant)
        return self._keys[tenant]

    def _new_key(self, tenant: str) -> str:
        """As `create_key` makes it; straight into the tables, for there are many tenants and few seconds."""
        from scrapejobs.store.keys import parse_key  # Django's settings are there only now

        credential = parse_key(f"sj_{base32(10)}_{base32(20)}")
        assert credential is not None
        with psycopg.connect(self._env["DATABASE_URL"], autocommit=True) as conn:
            conn.execute(
                "WITH t AS (INSERT INTO tenant (name, webhook_secret) VALUES (%s, %s) RETURNING id)"
                " INSERT INTO api_key (tenant_id, public_id, secret_sha256, scopes)"
                " SELECT id, %s, %s, '{read,submit}' FROM t",
                [tenant, new_secret(secrets.token_bytes(24)), credential.public_id, credential.sha256],
            )
        return str(credential)

    def ask(self, method: str, path: str, *, tenant: str = "acme", **options: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.key(tenant)}", **options.pop("headers", {})}
        return requests.request(method, f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=10, **options)

    def submit(self, url: str, *, tenant: str = "acme", **fields: Any) -> str:
        answer = self.ask("POST", "/jobs", tenant=tenant, json={"url": url, **fields})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def job(self, job_id: str, *, tenant: str = "acme") -> dict[str, Any]:
        answer = self.ask("GET", f"/jobs/{job_id}", tenant=tenant)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def wait_for(self, job_id: str, *statuses: str, tenant: str = "acme", at_most_s: float = 60.0) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            job = self.job(job_id, tenant=tenant)
            return job if job["status"] in statuses else None

        return wait_until(reached, what=f"{job_id} to be {statuses}", at_most_s=at_most_s)

    # ---- the database

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._env["DATABASE_URL"], autocommit=True) as conn:
            return conn.execute(statement).fetchall()

    def wait_all_final(self, *, at_most_s: float = 120.0) -> None:
        """Until no job is unfinished and every finish event is written."""
        wait_until(
            lambda: self.rows("SELECT count(*) FROM job WHERE finish_published_at IS NULL") == [(0,)],
            what="all jobs to be final",
            at_most_s=at_most_s,
        )

    def check_nothing_left(self) -> None:
        """What must hold whenever all jobs are final: no job in any place, one event for each."""
        held = (
            "SELECT job_id FROM queued UNION ALL SELECT job_id FROM delayed"
            " UNION ALL SELECT job_id FROM ready UNION ALL SELECT job_id FROM lease"
        )
        assert self.rows(held) == []
        assert self.rows("SELECT count(*) FROM job") == self.rows("SELECT count(DISTINCT job_id) FROM event")
        assert self.rows("SELECT job_id FROM event GROUP BY job_id HAVING count(*) > 1") == []


def base32(n: int) -> str:
    """Random bytes in the letters of keys."""
    return base64.b32encode(secrets.token_bytes(n)).decode().lower()
