"""What a job costs: the processor time of each process, as Linux counts it. It moves less than a rate when others use
this machine as well.
"""

from dataclasses import dataclass
from pathlib import Path

import psycopg


@dataclass(frozen=True, slots=True)
class Spent:
    """Microseconds of processor time since each process began, by process id."""

    us: dict[int, float]

    def since(self, before: "Spent") -> float:
        """What was spent in between; processes that are gone by now are left out."""
        return sum(us - before.us.get(pid, 0.0) for pid, us in self.us.items())


def spent(pids: list[int]) -> Spent:
    return Spent({pid: _us_of(pid) for pid in pids})


def servers_of(conn: psycopg.Connection) -> list[int]:
    """The processes of the Postgres at the other end, which is on this machine, but for the one that answers here."""
    row = conn.execute("SELECT current_setting('data_directory')").fetchone()
    assert row is not None
    postmaster = int(Path(row[0], "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return [int(pid) for pid in children if int(pid) != conn.info.backend_pid]


def _us_of(pid: int) -> float:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1000
    except FileNotFoundError:  # it has just ended
        return 0.0
