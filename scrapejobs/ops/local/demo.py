"""The main job in one go: hand jobs in through the API, watch them end, fetch a result (`manage.py demo`)."""

import contextlib
import hashlib
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from scrapejobs.ops.api_client import ApiClient, ApiError
from scrapejobs.ops.local.demo_stack import DemoError, Stack, own_stack, running_stack
from scrapejobs.ops.local.demo_target import DemoTarget

FINAL = {"succeeded": "green", "failed": "red", "cancelled": "yellow"}
DEADLINE_S = 60.0
POLL_S = 0.2
TENANTS = ("demo-shop", "demo-analyst")
JOBS = (  # tenant, priority, path, how it is to end
    ("demo-shop", "high", "/page/1", "succeeded"),
    ("demo-shop", "high", "/slow/1", "succeeded"),
    ("demo-shop", "normal", "/flaky/1", "succeeded"),
    ("demo-shop", "normal", "/gone/1", "failed"),
    ("demo-shop", "low", "/page/2", "succeeded"),
    ("demo-analyst", "high", "/page/3", "succeeded"),
    ("demo-analyst", "normal", "/busy/1", "succeeded"),
    ("demo-analyst", "normal", "/slow/2", "succeeded"),
    ("demo-analyst", "low", "/page/4", "succeeded"),
    ("demo-analyst", "low", "/page/5", "succeeded"),
)


@dataclass(slots=True)
class Job:
    """A job that the demo handed in, and what the API last said of it."""

    tenant: str
    priority: str
    url: str
    expected: str
    id: str = ""
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        return self.state.get("status") in FINAL


def demo(url: str | None, console: Console) -> int:
    """Run the demo, with jobs for `url` alone if one is given. The exit status: 0 when all ended as they should."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped
    try:
        with contextlib.ExitStack() as around:
            stack = running_stack(to_loopback=url is None)
            if stack is None:
                console.print("bringing up a stack of its own ...")
                stack = around.enter_context(own_stack())
            console.print(f"API at {stack.api_url}")
            jobs = list(_jobs(url, around))
            clients = _clients(stack, tenants=sorted({job.tenant for job in jobs}))
            for job in jobs:
                job.id = clients[job.tenant].submit(job.url, priority=job.priority)["id"]
            _watch(jobs, clients, console)
            console.print(_table(jobs))
            return _verdict(jobs, clients, console, is_own_target=url is None)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (DemoError, ApiError) as error:
        console.print(f"[red]{escape(str(error))}[/]")
        return 1


def _jobs(url: str | None, around: contextlib.ExitStack) -> Iterator[Job]:
    if url is not None:
        yield Job(TENANTS[0], "normal", url, "succeeded")
        return
    target = around.enter_context(DemoTarget())
    for tenant, priority, path, expected in JOBS:
        yield Job(tenant, priority, target.url + path, expected)


def _clients(stack: Stack, *, tenants: Sequence[str]) -> dict[str, ApiClient]:
    """A client for each tenant, with a key from the command that an operator would use."""
    with ThreadPoolExecutor() as pool:
        keys = pool.map(lambda tenant: stack.command("create_key", "--tenant", tenant), tenants)
        return {tenant: ApiClient(stack.api_url, key=key) for tenant, key in zip(tenants, keys, strict=True)}


def _watch(jobs: Sequence[Job], clients: dict[str, ApiClient], console: Console) -> None:
    """Ask for the states until all are final. Raises `DemoError` after a minute."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    deadline = time.monotonic() + DEADLINE_S
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("jobs", total=len(jobs))
        while not all(job.is_final for job in jobs):
            if time.monotonic() > deadline:
                raise DemoError(f"not all jobs were final after {DEADLINE_S:.0f} s")
            for job in (job for job in jobs if not job.is_final):
                job.state = clients[job.tenant].job(job.id)
            n_running = sum(job.state["status"] == "running" for job in jobs)
            progress.update(bar, completed=sum(job.is_final for job in jobs), description=f"jobs ({n_running} running)")
            time.sleep(POLL_S)


def _sha256(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def _table(jobs: Sequence[Job]) -> Table:
    table = Table("tenant", "priority", "target", "status", "tries", "why", "size", "link")
    for job in jobs:
        state = job.state
        error, result = state.get("last_error") or {}, state.get("result") or {}
        table.add_row(
            job.tenant,
            job.priority,
            escape(job.url),
            f"[{FINAL[state['status']]}]{state['status']}[/]",
            str(state["attempts"]),
            escape(str(error.get("code", ""))),
            str(result.get("size", "")),
            f"/jobs/{job.id}/result" if result else f"/jobs/{job.id}",
        )
    return table


def _verdict(jobs: Sequence[Job], clients: dict[str, ApiClient], console: Console, *, is_own_target: bool) -> int:
    """Download one result and compare it; say whether everything ended as it should."""
    wrong = [job for job in jobs if job.state["status"] != job.expected]
    for job in wrong:
        error = job.state.get("last_error") or {}
        console.print(f"[red]{escape(job.url)} {job.state['status']}: {escape(str(error.get('detail') or error))}[/]")
    stored = next((job for job in jobs if job.state["status"] == "succeeded"), None)
    if stored is None:
        return 1
    client = clients[stored.tenant]
    ours = _sha256(client.download(client.result(stored.id)["url"]))
    theirs, whose = stored.state["result"]["sha256"], "the API"
    if is_own_target:
        theirs, whose = _sha256(client.download(stored.url)), "the target"
    same = ours == theirs
    console.print(f"result of {escape(stored.url)}\n  sha256 of the download  {ours}\n  sha256 by {whose:<13} {theirs}")
    console.print("[green]the bytes are the same[/]" if same else "[red]the bytes differ[/]")
    return 0 if same and not wrong else 1
