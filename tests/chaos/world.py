"""One whole service on real servers of its own, with a hostile world around it; made once for many faults."""

import contextlib
import json
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import requests

from scrapejobs.adapters.embedded import Servers
from scrapejobs.domain.webhook import new_secret
from tests import servers as shared
from tests.chaos.beside import Beside
from tests.chaos.fault import Layout
from tests.chaos.journal import Journal
from tests.chaos.proxy import Proxy
from tests.chaos.supervisor import Supervisor
from tests.e2e.service import Service
from tests.e2e.waiting import wait_until

HOSTS = 8  # few, so that their slots are fought for
SHORT = {
    "SCRAPEJOBS_LEASE_S": "3",
    "SCRAPEJOBS_SWEEP_S": "1",
    "SCRAPEJOBS_DISPATCH_LEASE_S": "2",
    "SCRAPEJOBS_POLL_S": "0.5",
    "SCRAPEJOBS_HEARTBEAT_S": "1",
    "SCRAPEJOBS_RETRY_BASE_S": "0.2",
    "SCRAPEJOBS_RETRY_CAP_S": "2",
    "SCRAPEJOBS_CIRCUIT_TIMEOUT_S": "1",  # some pages always fail, and a host that fails rests
    "SCRAPEJOBS_CALLBACK_TIMEOUT_S": "2",
    "SCRAPEJOBS_GRACE_S": "0.1",  # less than a slow page takes: some attempts are handed back
}
FORWARD = """
UPDATE delivery SET next_try_at = clock_timestamp()
WHERE state = 'pending' AND next_try_at > clock_timestamp() + interval '20 s' -- longer than any claim of a courier
"""
DURABLE = {"fsync": "on", "full_page_writes": "on"}


class World:
    """Servers, roles under a supervisor, a target and a receiver. `seconds` is how long the present fault lasts."""

    def __init__(self, servers: Servers, directory: Path, layout: Layout) -> None:
        self.servers = servers
        self.directory = directory
        self.layout = layout
        self.seconds = 10.0
        self.on_heal: list[Callable[[], None]] = []
        self.proxies: dict[str, Proxy] = {}
        self.journal = Journal(directory / "faults.jsonl")
        self.secret = new_secret(secrets.token_bytes(24))
        self.target = Beside("tests.chaos.target", directory / "target.jsonl", "--addresses", str(HOSTS))
        self.receiver = Beside("tests.chaos.receiver", directory / "receiver.jsonl", "--secret", self.secret)
        limits = {
            "SCRAPEJOBS_HOST_CONCURRENCY": str(layout.host_slots),
            "SCRAPEJOBS_HOST_RATE": str(layout.host_rate),
            "SCRAPEJOBS_HOST_BURST": str(layout.host_burst),
        }
        settings = {**SHORT, **limits, **layout.settings}
        self.service = Service(servers, directory, **settings)
        self.supervisor = Supervisor(self.service, self.journal)

    def start_roles(self, **settings: str) -> None:
        """Every member of the layout, until all are ready; `settings` are theirs and not the commands'."""
        layout = self.layout
        for role, n in (
            ("gateway", layout.gateways),
            ("publisher", layout.publishers),
            ("scheduler", layout.schedulers),
            ("courier", layout.couriers),
            ("worker", layout.workers),
        ):
            for number in range(n):
                label = f"{role}-{number}"
                self.supervisor.add(role, label, **settings, **layout.by_label.get(label, {}))
        for label in self.supervisor.labels():
            self.supervisor.wait_ready(label)

    def close(self) -> None:
        self.supervisor.close()
        self.service.close()
        self.target.close()
        self.receiver.close()
        self.journal.close()

    # ---- for faults

    def rest(self, seconds: float) -> None:
        """Lets load run for a while."""
        time.sleep(seconds)

    def turns(self, every_s: float) -> Iterator[int]:
        """Counts turns, `every_s` apart, until the fault's time is over."""
        ends_at = time.monotonic() + self.seconds
        turn = 0
        while time.monotonic() < ends_at:
            yield turn
            turn += 1
            self.rest(max(0.0, min(every_s, ends_at - time.monotonic())))

    def note(self, what: str, **details: Any) -> None:
        """Writes down what a fault does; `heal` marks the moment from which recovery is counted."""
        self.journal.note(what=what, **details)

    def leader(self) -> str:
        """The label of the scheduler that dispatches."""
        holder = "SELECT holder FROM dispatcher WHERE expires_at > clock_timestamp()"
        return str(wait_until(lambda: self.service.rows(holder), what="a dispatcher")[0][0])

    def wait_busy(self, worker: str) -> None:
        """Until the worker of that label has several jobs in hand."""
        held = f"SELECT count(*) > 1 FROM lease WHERE worker = '{worker}' AND expires_at > clock_timestamp()"  # noqa: S608
        wait_until(lambda: self.service.rows(held) == [(True,)], what=f"{worker} to have jobs in hand")

    def open_gate(self) -> None:
        """The target answers what it held under `/hang/`, and holds nothing more until `shut_gate`."""
        self.target.signal(signal.SIGUSR1)

    def shut_gate(self) -> None:
        self.target.signal(signal.SIGUSR2)

    # ---- afterwards

    def heal(self) -> None:
        """Mends all that may be broken, and waits until the service is whole."""
        for mend in self.on_heal:
            mend()
        for server in self.servers.by_name.values():
            if not server.is_running:
                server.start()
        self.open_gate()
        self.note("heal")
        self.supervisor.heal()
        wait_until(self._answers, what="the API to answer")

    def _answers(self) -> bool:
        try:
            return self.service.ask("GET", "/jobs?limit=1", tenant="probe").status_code == requests.codes.ok
        except requests.RequestException:
            return False

    def drain(self, *, at_most_s: float = 90.0) -> None:
        """Until every job is final, told and delivered; what is not in time, the checker finds. Deliveries do not wait
        out their schedule: the hours of it are not what is looked at here.
        """
        give_up_at = time.monotonic() + at_most_s
        unfinished = (
            "SELECT (SELECT count(*) FROM job WHERE finish_published_at IS NULL) + (SELECT count(*) FROM lease),"
            " (SELECT count(*) FROM delivery WHERE state = 'pending')"
        )
        with psycopg.connect(self.servers.environment["DATABASE_URL"], autocommit=True) as conn:
            while conn.execute(unfinished).fetchone() != (0, 0):
                if time.monotonic() > give_up_at:
                    return
                conn.execute(FORWARD)
                time.sleep(0.25)

    def remove_orphans(self) -> int:
        """What the service itself finds and removes of them; how many."""
        return int(json.loads(self.service.manage("orphans", "--remove", "--json"))["removed"])

    def new_tenant(self, name: str) -> int:
        """A tenant with a key; its webhooks are signed with the secret that the receiver knows. Its number."""
        self.service.key(name)
        with psycopg.connect(self.servers.environment["DATABASE_URL"], autocommit=True) as conn:
            signed = "UPDATE tenant SET webhook_secret = %s WHERE name = %s RETURNING id"
            (row,) = conn.execute(signed, [self.secret, name])
        return int(row[0])


@contextlib.contextmanager
def running_world(layout: Layout, directory: Path) -> Iterator[World]:
    """A world of that layout, its logs in `directory`; everything that it started ends with the block."""
    with shared.running_servers(DURABLE if layout.durable else shared.POSTGRES_OPTIONS) as servers:
        (servers["s3"].directory / "scrapejobs").mkdir()
        shared.migrate(servers.environment["DATABASE_URL"])
        world = World(servers, directory, layout)
        with contextlib.ExitStack() as whole:
            whole.callback(world.close)
            settings = whole.enter_context(layout.between(world)) if layout.between else {}
            whole.callback(world.service.close)  # while it can still reach the servers
            whole.callback(world.supervisor.close)
            world.start_roles(**settings)
            yield world


def new_directory() -> Path:
    """Where a run keeps its logs."""
    return Path(tempfile.mkdtemp(prefix="scrapejobs-chaos-"))
