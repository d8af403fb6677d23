"""What runs, and where: each entry that was handed out is load of its tenant and of one host. (NFR-6)

An attempt that a redirect sends on lets go of its host and asks for a permit: room at the next host, a slot and a
token like those of a job. It holds no slot while it waits, so two attempts can never wait for each other's.
"""

from collections.abc import KeysView
from collections.abc import Set as AbstractSet

from scrapejobs.domain.lanes import Flow, Host, Tenant
from scrapejobs.domain.politeness import INFINITY
from scrapejobs.domain.queues import Queues
from scrapejobs.domain.roster import Roster
from scrapejobs.domain.waiting import WaitingRoom

# What an entry holds: its tenant, its host (None while it asks for a permit), and the flow whose turn to refund if
# nothing is ever sent (none for one that a former leader handed out).
Load = tuple[Tenant, Host | None, Flow | None]


class Loads:
    """The entries that are load. Whatever ends makes room for those who wait."""

    __slots__ = ("_asking", "_out", "_queues", "_roster", "_unclaimed", "_waiting")

    def __init__(self, roster: Roster, queues: Queues, waiting: WaitingRoom) -> None:
        self._roster = roster
        self._queues = queues
        self._waiting = waiting
        self._out: dict[int, Load] = {}
        self._unclaimed: set[int] = set()  # the entries whose token is set aside at their host
        self._asking: dict[int, Host] = {}  # the entries that wait for a permit, and where

    @property
    def seqs(self) -> KeysView[int]:
        """The entries that count as load. A live view."""
        return self._out.keys()

    @property
    def asking(self) -> KeysView[int]:
        """The entries that wait for a permit. A live view."""
        return self._asking.keys()

    @property
    def unclaimed(self) -> AbstractSet[int]:
        """The entries that are not known to be claimed. A live view."""
        return self._unclaimed

    # ---- jobs

    def start(self, seq: int, flow: Flow, host: Host) -> None:
        """A job of `flow` starts at `host`; its room is not looked at."""
        self._put(seq, flow.tenant, host, flow)
        flow.tenant.running += 1

    def _put(self, seq: int, tenant: Tenant, host: Host, flow: Flow | None) -> None:
        self._out[seq] = (tenant, host, flow)
        self._unclaimed.add(seq)
        host.gate.start()

    def hold(self, now: float, seq: int, tenant: Tenant, host: Host, *, arrives_at: float | None) -> None:
        """What a former leader handed out is load, whatever the limits say."""
        self._put(seq, tenant, host, None)
        if arrives_at is not None and arrives_at > now:
            self.claimed(now, seq, at=arrives_at)
        elif arrives_at is not None:  # before this leader began to count
            self._free_token(seq, host)
        tenant.running += 1
        self.respect_maximum(now, tenant)

    def respect_maximum(self, now: float, tenant: Tenant) -> None:
        """A tenant at its maximum holds no promises of room."""
        if tenant.running >= tenant.max_running:
            self._waiting.release_promises(now, tenant)

    def claimed(self, now: float, seq: int, *, at: float) -> None:
        """A worker has claimed the entry, at a time that may have passed: from then on its token is spent. Nothing
        happens if that is known. KeyError if it is not load.
        """
        _, host, _ = self._out[seq]
        if host is not None and seq in self._unclaimed:
            self._unclaimed.remove(seq)
            host.gate.claimed(at)
            self.host_changed(now, host)

    def finish(self, now: float, seq: int) -> None:
        """The entry has ended, and may have been claimed before. KeyError if it was not load."""
        self.claimed(now, seq, at=now)
        tenant, host, _ = self._out.pop(seq)
        self._unload(now, tenant, self._let_go(seq, host))

    def give_back(self, now: float, seq: int) -> None:
        """The entry has ended without a request: its token and its turn are given back. KeyError if it was not load."""
        tenant, host, flow = self._out[seq]
        if host is not None and seq in self._unclaimed:
            self._free_token(seq, host)
        if flow is not None:
            self._queues.refund(flow)
        del self._out[seq]
        self._unload(now, tenant, self._let_go(seq, host))

    def _free_token(self, seq: int, host: Host) -> None:
        self._unclaimed.remove(seq)
        host.gate.unclaimed -= 1

    # ---- permits

    def ask(self, now: float, seq: int, key: str) -> None:
        """The entry has let go of its host and waits for room at the host of that key: behind those that wait there for
        a permit already, before all jobs. KeyError if it is not load.
        """
        self.claimed(now, seq, at=now)
        tenant, host, _ = self._out[seq]
        left, wanted = self._let_go(seq, host), self._roster.host(key)
        self._out[seq] = (tenant, None, None)
        self._asking[seq] = wanted
        wanted.n_asking += 1
        self.host_changed(now, left)

    def permit(self, now: float) -> list[int]:
        """The entries for which there is room now, first come first served at each host. They are load there."""
        permitted, full = list[int](), set[Host]()
        for seq, host in self._asking.items():
            if host not in full and host.gate.room(now) >= 1:
                self._put(seq, self._out[seq][0], host, None)
                permitted.append(seq)
            else:
                full.add(host)
        for host in {self._withdraw(seq) for seq in permitted}:
            self.host_changed(now, host)
        return permitted

    def next_permit(self, now: float) -> float:
        """When time alone may bring room for a permit; infinity if never."""
        return min((host.gate.room_at(now, 1) for host in set(self._asking.values())), default=INFINITY)

    def _withdraw(self, seq: int) -> Host:
        """The entry asks no more; the host at which it did."""
        host = self._asking.pop(seq)
        host.n_asking -= 1
        return host

    # ---- what follows

    def _let_go(self, seq: int, host: Host | None) -> Host:
        """The entry leaves the host where it is load, or else the one where it asks; which."""
        if host is None:
            return self._withdraw(seq)
        host.gate.running -= 1
        return host

    def _unload(self, now: float, tenant: Tenant, left: Host) -> None:
        """One job less at `tenant`, and at the host that it left: others may start."""
        tenant.running -= 1
        if tenant.max_running < INFINITY:
            self._queues.resume(tenant)
        if not tenant.running:
            self._roster.drop_tenant(tenant)
        self.host_changed(now, left)

    def host_changed(self, now: float, host: Host) -> None:
        """There may be room at `host`: who waits there is woken. Or nobody is there any more: it is forgotten."""
        if host.line is not None:
            self._waiting.wake(now, host, host.line)
        if host.is_idle:
            self._roster.drop_host(now, host)
