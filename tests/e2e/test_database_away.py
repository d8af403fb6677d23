"""Postgres is away or full: clients are told when to come again, and every loop goes on by itself afterwards."""

import contextlib
from collections.abc import Iterator

import psycopg
import pytest
import requests

from tests.e2e.service import Service
from tests.e2e.target import Target
from tests.e2e.waiting import wait_until


def check_unavailable(answer: requests.Response) -> None:
    assert answer.status_code == 503, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["type"] == "/problems/unavailable"
    assert int(answer.headers["Retry-After"]) > 0


@pytest.mark.req("NFR-3")
@pytest.mark.case("S7")
def test_while_postgres_is_away_every_page_answers_503(service: Service, target: Target) -> None:
    service.start_all()
    service.key("acme")
    service.servers["postgres"].kill()
    try:
        for path in ("/jobs", "/jobs/018f0000-0000-7000-8000-000000000001"):
            check_unavailable(service.ask("GET", path))
        check_unavailable(service.ask("POST", "/jobs", json={"url": target.url("/page/1")}))
        login = {"username": "u", "password": "p"}
        page = f"http://127.0.0.1:{service.port}/admin/login/"
        with requests.Session() as person:
            token = person.get(page, timeout=10).cookies["csrftoken"]
            check_unavailable(person.post(page, data={**login, "csrfmiddlewaretoken": token}, timeout=10))
        assert requests.get(f"http://127.0.0.1:{service.port}/healthz", timeout=10).status_code == 200
        assert requests.get(f"http://127.0.0.1:{service.port}/readyz", timeout=10).status_code == 503
    finally:
        service.servers["postgres"].start()
    job_id = wait_until(lambda: taken(service, target.url("/page/2")), what="a job to be taken")
    service.wait_for(job_id, "succeeded")


def taken(service: Service, url: str) -> str | None:
    answer = service.ask("POST", "/jobs", json={"url": url})
    return str(answer.json()["id"]) if answer.status_code == 202 else None


@contextlib.contextmanager
def no_connection_left(database_url: str) -> Iterator[None]:
    """Everybody else's connection is cut and every one that the server has is taken."""
    with contextlib.ExitStack() as held:
        mine: list[psycopg.Connection] = []

        def connect_again_and_again() -> None:
            while True:
                mine.append(held.enter_context(psycopg.connect(database_url, autocommit=True)))

        def take_all() -> bool:
            with pytest.raises(psycopg.OperationalError, match="too many clients"):
                connect_again_and_again()
            cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            pids = [connection.info.backend_pid for connection in mine]
            return mine[0].execute(f"{cut} AND pid <> ALL (%s)", [pids]).fetchone() == (0,)

        wait_until(take_all, what="all connections")
        yield


@pytest.mark.req("NFR-3")
def test_while_postgres_has_no_connection_left_clients_are_told_and_afterwards_all_goes_on(
    service: Service, target: Target
) -> None:
    roles = service.start_all()
    waiting = service.submit(target.url("/hold/1"))
    target.wait_for("/hold/1")
    with no_connection_left(service.servers.environment["DATABASE_URL"]):
        check_unavailable(service.ask("POST", "/jobs", json={"url": target.url("/page/1")}))
        for role in roles[1:]:
            wait_until(lambda role=role: "too many clients" in role.log.read_text(), what=f"{role.log.name} to be told")
        target.release()
    job_id = wait_until(lambda: taken(service, target.url("/page/2")), what="a job to be taken")
    for each in (waiting, job_id):
        assert service.wait_for(each, "succeeded", "failed")["status"] == "succeeded"
    for role in roles:
        service.wait_ready(role)
    service.wait_all_final()
    service.check_nothing_left()
