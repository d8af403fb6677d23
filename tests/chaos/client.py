"""Clients under load: several threads hand jobs in, cancel and requeue, and write down what they were told.

Each answer is `ok` (a 202), `fail` (a definite refusal) or `unknown` (cut, timed out, 5xx). What is unknown is
asked again with the same Idempotency-Key, as a careful client does.
"""

import itertools
import threading
import time
from collections.abc import Mapping
from random import Random
from typing import Any

import requests

from tests.chaos.journal import Journal
from tests.chaos.pages import KINDS
from tests.chaos.world import HOSTS, World

MIX: Mapping[str, int] = {"page": 45, "slow": 27, "busy": 6, "later": 1, "cut": 5, "nul": 4, "gone": 8, "down": 4}
CALLBACKS: Mapping[str, int] = {"": 70, "ok": 24, "fail": 4, "hang": 2}
ANSWER_S = 5.0
AGAIN_S = (0.1, 0.2, *[0.4] * 20)
TENANTS = 3
_LATER = {408, 425, 429}


class Load:
    """Threads of clients, from `start` to `stop`. `shapes` are kinds of pages by weight, `cancels` and `requeues`
    shares of what clients do, `rest_s` a thread's mean rest.
    """

    def __init__(
        self,
        world: World,
        *,
        name: str,
        seed: str,
        shapes: Mapping[str, int] | None = None,
        threads: int = 4,
        rest_s: float = 0.05,
        cancels: float = 0.06,
        requeues: float = 0.04,
    ) -> None:
        self.name = name
        self.journal = Journal(world.directory / f"client-{name}.jsonl")
        self.tenants = {f"{name}-{n}": world.new_tenant(f"{name}-{n}") for n in range(TENANTS)}
        self._world = world
        self._shapes = shapes or MIX
        self._rest_s = rest_s
        self._cancels, self._requeues = cancels, requeues
        self._stopping = threading.Event()
        self._numbers = itertools.count(1)
        self._threads = [
            threading.Thread(target=self._run, args=(Random(f"{seed}-{n}"),), name=f"client-{n}")
            for n in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends the load; what is unknown by now was asked to the end."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self.journal.close()

    def _run(self, rng: Random) -> None:
        client = _Client(self._world, self.journal)
        known: list[tuple[str, str, str]] = []  # tenant, id, kind
        while not self._stopping.is_set():
            dice = rng.random()
            if known and dice < self._cancels:
                client.act("cancel", *rng.choice(known[-20:])[:2])
            elif known and dice < self._cancels + self._requeues:
                doomed = [job for job in known if KINDS[job[2]].final == "failed"]
                if doomed:
                    client.act("requeue", *rng.choice(doomed)[:2])
            else:
                self._submit(client, rng, known)
            self._stopping.wait(rng.random() * 2 * self._rest_s)

    def _submit(self, client: "_Client", rng: Random, known: list[tuple[str, str, str]]) -> None:
        tenant = rng.choice(list(self.tenants))
        kind = _any(rng, self._shapes)
        key = f"{self.name}-{next(self._numbers)}"
        path = f"/{kind}/{key}"
        job = {
            "url": f"http://127.0.0.{rng.randint(1, HOSTS)}:{self._world.target.port}{path}",
            "priority": rng.choice(["high", "normal", "low"]),
            "tags": {"key": key},
        }
        if callback := _any(rng, CALLBACKS):
            job["callback_url"] = f"http://127.0.0.1:{self._world.receiver.port}/{callback}/{key}"
        job_id = client.submit(tenant, key, path, job)
        if job_id:
            known.append((tenant, job_id, kind))
            if rng.random() < 0.03:  # a client that forgot that it had asked
                client.submit(tenant, key, path, job)


class _Client:
    """One connection to the API, and its notes."""

    def __init__(self, world: World, journal: Journal) -> None:
        self._service = world.service
        self._journal = journal
        self._session = requests.Session()

    def submit(self, tenant: str, key: str, path: str, job: dict[str, Any]) -> str | None:
        """Hands a job in until the answer is definite, or patience ends; its id, if it was accepted."""
        for rest_s in (*AGAIN_S, None):
            result, answer = self._ask("/jobs", tenant, json=job, headers={"Idempotency-Key": key})
            job_id = answer.json()["id"] if result == "ok" and answer is not None else None
            self._journal.note(
                what="submit",
                tenant=tenant,
                key=key,
                path=path,
                callback="callback_url" in job,
                result=result,
                status=answer.status_code if answer is not None else None,
                job_id=job_id,
            )
            if result != "unknown" or rest_s is None:
                return job_id
            time.sleep(rest_s)
        return None

    def act(self, verb: str, tenant: str, job_id: str) -> None:
        """Cancels or requeues once."""
        result, answer = self._ask(f"/jobs/{job_id}/{verb}", tenant)
        status = answer.status_code if answer is not None else None
        self._journal.note(what=verb, tenant=tenant, job_id=job_id, result=result, status=status)

    def _ask(self, path: str, tenant: str, **options: Any) -> tuple[str, requests.Response | None]:
        headers = {"Authorization": f"Bearer {self._service.key(tenant)}", **options.pop("headers", {})}
        url = f"http://127.0.0.1:{self._service.port}{path}"
        try:
            answer = self._session.post(url, headers=headers, timeout=ANSWER_S, **options)
        except requests.RequestException:
            return "unknown", None
        if answer.status_code == requests.codes.accepted:
            return "ok", answer
        is_definite = 400 <= answer.status_code < 500 and answer.status_code not in _LATER
        return ("fail" if is_definite else "unknown"), answer


def _any(rng: Random, weighted: Mapping[str, int]) -> str:
    return rng.choices(list(weighted), weights=list(weighted.values()))[0]
