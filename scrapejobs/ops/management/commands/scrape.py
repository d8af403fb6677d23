import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.text import Text

from scrapejobs.config import load, stack_env
from scrapejobs.domain.job import PRIORITIES, Status
from scrapejobs.ops.api_client import ApiClient, ApiError
from scrapejobs.ops.console import INTERRUPTED, WRONG_USE, cell, plain_errors, print_json
from scrapejobs.ops.local.data_dir import ACCESS, recall_access

Job = dict[str, Any]


class Command(BaseCommand):
    help = (
        "Hands a job in through the API of the running stack, shows its progress on stderr and prints the bytes of the "
        "result on stdout. Exit 0: succeeded; 1: failed, with the reason on stderr; 2: wrong use."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", metavar="URL", help="what to fetch: http or https")
        parser.add_argument("--priority", choices=PRIORITIES, default="normal")
        parser.add_argument("--json", action="store_true", help="print the job and a link instead of the bytes")
        parser.add_argument("--key-file", type=Path, metavar="FILE", help="an API key; that of `make up` unless given")

    @plain_errors
    def handle(self, **options: Any) -> None:
        client = ApiClient(_api_url(), key=_key(options["key_file"]))
        try:
            job = self._settled(client, client.submit(options["url"], priority=options["priority"]))
            is_good = job["status"] == Status.SUCCEEDED
            result = client.result(job["id"]) if is_good else None
            if options["json"]:
                print_json(self.stdout, {"job": job, "result": result})
            elif result:
                self._print(client, result)
        except ApiError as error:
            raise CommandError(str(error), returncode=WRONG_USE if error.is_callers_fault else 1) from None
        if not is_good:
            raise CommandError(_reason(job))

    def _settled(self, client: ApiClient, job: Job) -> Job:
        """The job when it is final."""
        try:
            with _progress() as say:
                while not Status(job["status"]).is_final:
                    say(_so_far(job))
                    job = client.wait(job["id"])
        except KeyboardInterrupt:
            raise CommandError(f"not waiting any longer; job {job['id']} goes on", returncode=INTERRUPTED) from None
        return job

    def _print(self, client: ApiClient, result: Job) -> None:
        stream = getattr(self.stdout, "buffer", None)
        is_text = str(result["content_type"] or "").startswith("text/") or "json" in str(result["content_type"])
        if stream is None or (self.stdout.isatty() and not is_text):
            self.stdout.write(f"{result['size']} bytes of {cell(result['content_type'])}: {result['url']}")
            return
        self.stdout.flush()
        for chunk in client.download(result["url"]):
            stream.write(chunk)
        stream.flush()


def _api_url() -> str:
    config = load()
    return config.api_url or f"http://127.0.0.1:{config.port}"


def _key(file: Path | None) -> str:
    """The key in a file, else the local stack's."""
    data_dir = stack_env().parent
    try:
        key = file.read_text(encoding="utf-8").strip() if file else ""
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}", returncode=WRONG_USE) from None
    if not file and (data_dir / ACCESS).is_file():
        key = recall_access(data_dir).api_key
    if not key:
        raise CommandError("no API key: `make up` keeps one for this command, or give --key-file", returncode=WRONG_USE)
    return key


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Gives the function that shows how far the job is: a line that changes, on a terminal only."""
    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with console.status("") as status:
        yield lambda text: status.update(Text(text))


def _so_far(job: Job) -> str:
    waiting = job.get("waiting_for") or {}
    error = job.get("last_error") or {}
    parts = [job["id"], job["status"], waiting.get("reason"), f"after {error['code']}" if error else None]
    return "  ".join(cell(part) for part in parts if part)


def _reason(job: Job) -> str:
    error = job.get("last_error") or {}
    why = f": {error.get('class')} {error.get('code')}, {error.get('detail')}" if error else ""
    return f"job {job['id']} {job['status']} after {job['attempts']} attempt(s){cell(why) if why else ''}"
