"""Keeps the roles of a local stack running: one process each, started again when it dies, drained at the end."""

import asyncio
import contextlib
import http.client
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrapejobs.adapters.embedded import EmbeddedError, Servers, die_with_parent

START_S = 60.0
BACK_OFF_S = 0.5
BACK_OFF_CAP_S = 30.0
STEADY_S = 30.0
PROBE_S = 0.1
WATCH_S = 0.5
SAME_REQUEST_S = 1.0
MAX_LINE_BYTES = 1 << 20

Say = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class RoleProcess:
    """A role to be kept running, and the ports of 127.0.0.1 where it says `/readyz`."""

    label: str
    argv: Sequence[str]
    ready_ports: Sequence[int]


class Supervisor:
    """Runs the processes until SIGINT or SIGTERM; a second one does not wait for the drain."""

    def __init__(
        self,
        processes: Sequence[RoleProcess],
        *,
        environment: Mapping[str, str],
        directory: Path,
        servers: Servers,
        say: Say,
        grace_s: float,
    ) -> None:
        self._processes = processes
        self._environment = environment
        self._directory = directory
        self._servers = servers
        self._say = say
        self._grace_s = grace_s
        self._stopping = asyncio.Event()
        self._asked_at: float | None = None
        self._running: dict[str, asyncio.subprocess.Process] = {}

    async def run(self, announce: Callable[[], None]) -> bool:
        """Start all; `announce` when all are ready; stop all. False if they did not get ready within 60 s."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._ask_to_stop)
        keepers = [asyncio.create_task(self._keep(process)) for process in self._processes]
        watcher = asyncio.create_task(self._watch_servers())
        try:
            ready = await self._until_ready()
            if ready and not self._stopping.is_set():
                announce()
            if ready:
                await self._stopping.wait()
            return ready
        finally:
            watcher.cancel()
            await self._stop(keepers)

    def _ask_to_stop(self) -> None:
        """The same request can come twice at once, from a terminal or `timeout` and from `make`: that is one."""
        now = time.monotonic()
        self._asked_at = self._asked_at or now
        if now - self._asked_at > SAME_REQUEST_S:
            self._signal_all(signal.SIGKILL)
        self._stopping.set()

    async def _keep(self, process: RoleProcess) -> None:
        """Run it again and again, with growing rests between deaths that follow soon upon a start."""
        n_early_deaths = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            status = await self._run_once(process)
            if self._stopping.is_set():
                return
            n_early_deaths = 0 if time.monotonic() - began > STEADY_S else n_early_deaths + 1
            rest_s = min(BACK_OFF_S * 2**n_early_deaths, BACK_OFF_CAP_S)
            self._say(process.label, f"ended with status {status}; starts again in {rest_s:g} s")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), rest_s)

    async def _run_once(self, process: RoleProcess) -> int:
        child = await asyncio.create_subprocess_exec(
            *process.argv,
            cwd=self._directory,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=MAX_LINE_BYTES,
            process_group=0,  # a Ctrl-C in the terminal is for us, who stop the roles before the servers
            preexec_fn=die_with_parent(signal.SIGKILL),
        )
        self._running[process.label] = child
        reader = asyncio.create_task(self._pass_on(process.label, child.stdout))
        if self._stopping.is_set():  # asked while it was being started
            child.terminate()
        status = await child.wait()
        del self._running[process.label]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader, 1.0)
        return status

    async def _pass_on(self, label: str, stream: asyncio.StreamReader | None) -> None:
        while stream is not None:
            try:
                line = await stream.readline()
            except ValueError:  # longer than MAX_LINE_BYTES: dropped
                continue
            if not line:
                return
            self._say(label, line.decode(errors="replace").rstrip())

    async def _until_ready(self) -> bool:
        """Whether all got ready in time; True as well when asked to stop meanwhile, for that is no failure."""
        deadline = time.monotonic() + START_S
        waiting = [(process.label, port) for process in self._processes for port in process.ready_ports]
        while waiting and not self._stopping.is_set():
            label, port = waiting[0]
            if await asyncio.to_thread(is_ready, port):
                waiting.pop(0)
            elif time.monotonic() > deadline:
                self._say("up", f"{label} was not ready within {START_S:.0f} s; its last lines are above")
                return False
            else:
                await asyncio.sleep(PROBE_S)
        return True

    async def _watch_servers(self) -> None:
        """Start a server again that died. Here and not in a thread: a child ends with the thread that made it."""
        while True:
            await asyncio.sleep(WATCH_S)
            for name, server in self._servers.by_name.items():
                if not server.is_running:
                    self._say(name, "ended; starts again")
                    try:
                        server.start()
                    except EmbeddedError as error:
                        self._say(name, str(error))

    async def _stop(self, keepers: Sequence[asyncio.Task[None]]) -> None:
        self._stopping.set()
        self._signal_all(signal.SIGTERM)
        _, late = await asyncio.wait(keepers, timeout=self._grace_s)
        if late:
            self._say("up", f"still running after {self._grace_s:g} s and killed: {', '.join(self._running)}")
            self._signal_all(signal.SIGKILL)
            await asyncio.wait(late)

    def _signal_all(self, number: signal.Signals) -> None:
        for child in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(number)


def is_ready(port: int) -> bool:
    """Whether `/readyz` on this port of 127.0.0.1 answers 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
