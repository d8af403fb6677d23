"""Keeps roles running, and is told which of them to hurt."""

import contextlib
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from scrapejobs.ops.local.supervisor import is_ready
from tests.chaos.journal import Journal
from tests.e2e.service import Role, Service

WATCH_S = 0.05
RESTS_S = 0.3  # so that a role that cannot start does not eat the machine
ASKED = frozenset({0, -signal.SIGTERM, -signal.SIGKILL})


@dataclass(slots=True)
class Member:
    """A role that is kept running under a label, which is its name in the product too."""

    label: str
    role: str
    settings: Mapping[str, str]
    process: Role
    is_kept: bool = True
    is_stopped: bool = False
    started_at: float = field(default_factory=time.monotonic)


class Supervisor:
    """Starts a member again when it has died, unless it was told to leave it. Each deed is in the journal.

    A death that nobody asked for (any status but 0, SIGTERM and SIGKILL) is a crash, and the service's fault.
    """

    def __init__(self, service: Service, journal: Journal) -> None:
        self._service = service
        self._journal = journal
        self._members: dict[str, Member] = {}
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self.deaths: Counter[str] = Counter()
        self.crashes: list[str] = []
        self._watcher.start()

    def add(self, role: str, label: str, **settings: str) -> None:
        """Starts a role and keeps it."""
        process = self._service.start(role, "--name", label, **settings)
        with self._lock:
            self._members[label] = Member(label, role, settings, process)

    def labels(self, role: str | None = None) -> list[str]:
        return [label for label, member in self._members.items() if role in {None, member.role}]

    def role(self, label: str) -> Role:
        """The process that carries the label now."""
        return self._members[label].process

    # ---- hurting

    def kill(self, label: str, *, again: bool = True) -> None:
        """kill -9; started again at once unless `again` is False."""
        with self._lock:
            member = self._members[label]
            member.is_kept = again
            self._journal.note(what="kill", label=label, role=member.role)
            member.process.kill()
            if not again:
                self._bury(member)

    def stop(self, label: str, *, again: bool = True) -> int:
        """SIGTERM; the exit status. Started again after it unless `again` is False."""
        with self._lock:
            member = self._members[label]
            member.is_kept = False
        self._journal.note(what="term", label=label, role=member.role)
        try:
            return member.process.stop()
        finally:
            member.is_kept = again

    def freeze(self, label: str) -> None:
        """SIGSTOP"""
        with self._lock:
            member = self._members[label]
            self._journal.note(what="freeze", label=label, role=member.role)
            member.process.process.send_signal(signal.SIGSTOP)
            member.is_stopped = True

    def thaw(self, label: str) -> None:
        """SIGCONT"""
        with self._lock:
            member = self._members[label]
            member.process.process.send_signal(signal.SIGCONT)
            member.is_stopped = False
            self._journal.note(what="thaw", label=label, role=member.role)

    def start(self, label: str, **settings: str) -> None:
        """Starts a member that was killed and not kept, with settings of this one process alone."""
        with self._lock:
            member = self._members[label]
            member.process = self._service.start(member.role, "--name", label, **member.settings, **settings)
            member.started_at = time.monotonic()

    # ---- healing

    def heal(self) -> None:
        """Thaws and keeps every member, and waits until all are ready."""
        for member in self._members.values():
            if member.is_stopped:
                self.thaw(member.label)
            member.is_kept = True
        for label in self._members:
            self.wait_ready(label)

    def wait_ready(self, label: str, *, at_most_s: float = 60.0) -> None:
        """Until the member's process, whichever it is by now, says that it is ready."""
        give_up_at = time.monotonic() + at_most_s
        while True:
            member = self._members[label]
            process = member.process
            if process.process.poll() is None and is_ready(process.metrics_port) and member.process is process:
                return
            if time.monotonic() > give_up_at:
                raise AssertionError(f"{label} was not ready in {at_most_s:g} s:\n{process.log.read_text()[-3000:]}")
            time.sleep(WATCH_S)

    def close(self) -> None:
        """Leaves the members to the service, which ends them."""
        self._closing.set()
        self._watcher.join(10)
        for member in self._members.values():
            with contextlib.suppress(ProcessLookupError):
                member.process.process.send_signal(signal.SIGCONT)

    # ---- watching

    def _watch(self) -> None:
        while not self._closing.wait(WATCH_S):
            for member in list(self._members.values()):
                with self._lock:
                    if member.is_kept and member.process.process.poll() is not None:
                        self._bury(member)
                        self._start_again(member)

    def _bury(self, member: Member) -> None:
        status = member.process.process.returncode
        self.deaths[member.role] += 1
        self._journal.note(what="death", label=member.label, role=member.role, status=status)
        if status not in ASKED:
            self.crashes.append(f"{member.label} ended with {status}: see {member.process.log}")

    def _start_again(self, member: Member) -> None:
        time.sleep(max(0.0, member.started_at + RESTS_S - time.monotonic()))
        member.process = self._service.start(member.role, "--name", member.label, **member.settings)
        member.started_at = time.monotonic()
        member.is_stopped = False
