"""SIGTERM at any time: no new work, what is under way ends or is handed back, and the exit status is 0 (P8)."""

import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
import requests

from scrapejobs.ops.local.supervisor import is_ready
from tests.e2e.service import Role, Service
from tests.e2e.target import Target
from tests.e2e.waiting import wait_until

ROLES = ("gateway", "publisher", "scheduler", "worker", "courier")
LOADED_EARLY = "pydantic_core"  # by the settings: long before a role can take its first step


def is_importing(role: Role) -> bool:
    """Whether the process has come as far as its first heavy import."""
    return LOADED_EARLY in Path(f"/proc/{role.process.pid}/maps").read_text()


@pytest.mark.req("P8")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ROLES)
def test_a_role_told_to_stop_while_it_starts_ends_well(service: Service, name: str, number: signal.Signals) -> None:
    role = service.start(name)
    wait_until(lambda: is_importing(role), what="the first heavy import")
    role.process.send_signal(number)
    assert role.process.wait(40) == 0, role.log.read_text()
    assert "Traceback" not in role.log.read_text()


@pytest.mark.req("P8")
@pytest.mark.parametrize("name", ROLES)
def test_a_role_that_is_told_to_stop_again_and_again_ends_well(service: Service, name: str) -> None:
    role = service.start(name)
    service.wait_ready(role)

    def told() -> bool:
        if role.process.poll() is None:
            role.process.terminate()
        return role.process.poll() is not None

    wait_until(told, what="the end")
    assert role.process.returncode == 0, role.log.read_text()
    assert "Traceback" not in role.log.read_text()
    assert service.rows("SELECT name FROM service") == []


@pytest.mark.req("P8")
def test_a_scheduler_does_not_wait_for_an_object_store_that_does_not_answer(service: Service) -> None:
    """It takes a minute until a look at a silent store is given up."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        scheduler = service.start("scheduler", S3_ENDPOINT_URL=f"http://127.0.0.1:{silent.getsockname()[1]}")
        silent.settimeout(60)
        with silent.accept()[0] as asking:
            assert asking.recv(4) == b"GET "
            assert scheduler.stop() == 0
    assert service.rows("SELECT name FROM service") == []


@pytest.mark.req("P8")
def test_requests_under_way_are_answered_and_no_new_ones_are_taken(service: Service, target: Target) -> None:
    gateway = service.start("gateway")
    service.wait_ready(gateway)
    service.key("acme")
    with psycopg.connect(service.servers.environment["DATABASE_URL"]) as held, ThreadPoolExecutor(4) as pool:
        held.execute("LOCK TABLE job IN EXCLUSIVE MODE")
        asked = [pool.submit(service.submit, target.url(f"/page/{n}")) for n in range(4)]
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        wait_until(lambda: service.rows(waiting) == [(4,)], what="four requests under way")
        gateway.process.terminate()
        wait_until(lambda: not accepts(service.port), what="the port to be shut")
        assert not any(answer.done() for answer in asked)
        held.commit()
        jobs = {answer.result(30) for answer in asked}
    assert gateway.process.wait(40) == 0
    assert {str(row[0]) for row in service.rows("SELECT id FROM job")} == jobs


def accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
    except OSError:
        return False


@pytest.mark.req("P8")
def test_a_gateway_stopped_under_load_has_kept_what_it_accepted(service: Service, target: Target) -> None:
    gateway = service.start("gateway")
    service.wait_ready(gateway)
    accepted: list[str] = []
    broken: list[str] = []

    def hand_in(turn: int) -> None:
        """Hands jobs in, each over a connection of its own, until nobody listens."""
        for n in range(100_000):
            try:
                accepted.append(service.submit(target.url(f"/page/{turn}-{n}")))
            except requests.ConnectionError:
                if not accepts(service.port):
                    return
                broken.append(f"{turn}-{n}")

    clients = [threading.Thread(target=hand_in, args=(turn,)) for turn in range(4)]
    service.key("acme")
    for client in clients:
        client.start()
    wait_until(lambda: len(accepted) >= 20, what="some load")
    assert gateway.stop() == 0
    for client in clients:
        client.join(30)
    assert broken == []
    assert set(accepted) <= {str(row[0]) for row in service.rows("SELECT id FROM job")}


@pytest.mark.req("P8")
@pytest.mark.timeout(240)
def test_every_role_replaced_one_by_one_under_load_loses_and_charges_nothing(service: Service, target: Target) -> None:
    roles = service.start_all()
    jobs = [service.submit(target.url(f"/page/{n}", host=n % 20 + 1)) for n in range(300)]
    for role in roles[1:]:
        name = role.log.stem.split("-", 1)[1]
        successor = service.start(name)
        service.wait_ready(successor)
        assert role.stop() == 0
        assert not is_ready(role.metrics_port)
        jobs += [service.submit(target.url(f"/page/{name}-{n}", host=n % 20 + 1)) for n in range(50)]
    service.wait_all_final()
    assert service.rows("SELECT final_state, attempts, count(*) FROM job GROUP BY 1, 2") == [
        ("succeeded", 1, len(jobs))
    ]
    service.check_nothing_left()
