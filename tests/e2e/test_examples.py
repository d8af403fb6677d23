"""The examples, and the code on the pages of the docs, do what they say on the real service."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests
from standardwebhooks import Webhook

from scrapejobs.adapters.embedded import free_port
from scrapejobs_client import Client
from tests.e2e.service import ROOT
from tests.e2e.standing import Standing
from tests.e2e.target import page
from tests.e2e.waiting import wait_until

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Shell:
    """A folder, and an environment as a newcomer has it after `export SCRAPEJOBS_URL=... SCRAPEJOBS_KEY=...`."""

    def __init__(self, standing: Standing, folder: Path) -> None:
        self.tenant = folder.name  # one of its own
        self.folder = folder / "work"
        self.folder.mkdir()
        command = folder / "bin" / "scrapejobs"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m scrapejobs_client "$@"\n')
        command.chmod(0o755)
        self.environment = {
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "client"),
            **standing.environment(self.tenant),
        }

    def client(self) -> Client:
        return Client(self.environment["SCRAPEJOBS_URL"], self.environment["SCRAPEJOBS_KEY"])

    def example(self, name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self.run(sys.executable, str(ROOT / "examples" / name), *arguments)

    def run(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            argv, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=100, check=False
        )


@pytest.fixture
def shell(standing: Standing, tmp_path: Path) -> Shell:
    return Shell(standing, tmp_path)


def blocks(name: str, language: str) -> list[str]:
    """The code of a page of the docs, by its language."""
    text = (ROOT / "docs/howto" / name).read_text("utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found
    return found


@pytest.mark.req("FR-1")
def test_the_example_of_one_page_leaves_its_bytes_in_a_file(standing: Standing, shell: Shell):
    done = shell.example("submit_one.py", standing.target.url("/page/one"))
    assert done.returncode == 0, done.stderr
    assert (shell.folder / done.stdout.strip()).read_bytes() == page("/page/one")
    gone = shell.example("submit_one.py", standing.target.url("/status/410"))
    assert (gone.returncode, gone.stdout) == (1, "failed: permanent http_410: the target answered 410\n")
    refused = shell.example("submit_one.py", "ftp://127.0.0.1/")
    assert (refused.returncode, refused.stdout[:28]) == (1, "refused: url-not-allowed: /u")


@pytest.mark.req("FR-3")
def test_the_example_of_many_pages_fetches_each_once_and_tells_what_it_could_not(standing: Standing, shell: Shell):
    paths = [f"/page/many-{n}" for n in range(3)]
    urls = [standing.target.url(path) for path in paths]
    (shell.folder / "urls.txt").write_text("\n".join([*urls, standing.target.url("/status/404"), "ftp://x/"]))
    done = shell.example("bulk_download.py", "urls.txt", "results")
    assert done.returncode == 1, done.stderr
    assert "line 5: url-not-allowed" in done.stdout
    assert "/status/404: permanent http_404" in done.stdout
    again = shell.example("bulk_download.py", "urls.txt", "results")
    files = sorted(path for path in (shell.folder / "results").iterdir() if not path.name.startswith("."))
    assert sorted(file.read_bytes() for file in files) == sorted(page(path) for path in paths)
    assert sorted(again.stdout.splitlines())[1:] == sorted(f"results/{file.name}" for file in files)
    assert all(standing.target.count()[path] == 1 for path in paths)


@pytest.mark.req("FR-10")
def test_the_example_of_failed_jobs_sends_back_what_may_pass_and_leaves_alone_what_will_not(
    standing: Standing, shell: Shell
):
    tags = {"run": "again"}
    with shell.client() as client:
        passing = client.submit(standing.target.url("/status/503"), params={"max_attempts": 1}, tags=tags).id
        lasting = client.submit(standing.target.url("/status/404"), tags=tags).id
        assert [client.wait(id_, timeout_s=60).status for id_ in (passing, lasting)] == ["failed", "failed"]
        done = shell.example("requeue_failed.py", "run=again")
        assert done.returncode == 0, done.stderr
        told = {line.split("  ")[1].rpartition("/")[2]: line.split("  ")[0] for line in done.stdout.splitlines()}
        assert told == {"503": "requeued", "404": "left alone"}
        client.wait(passing, timeout_s=60)
        assert (len(client.attempts(passing)), len(client.attempts(lasting))) == (2, 1)


@contextlib.contextmanager
def receiver(shell: Shell, secret: str, port: int) -> Iterator[Path]:
    """The example that receives webhooks, running; the file that it writes to."""
    output = shell.folder / "received"
    with output.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "examples/receive_webhooks.py"), str(port)],
            cwd=shell.folder, env={**shell.environment, "WEBHOOK_SECRET": secret}, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        wait_until(lambda: answers(port), what="the receiver to listen")
        yield output
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.req("FR-9")
def test_the_example_of_a_receiver_is_told_of_the_end_of_a_job(standing: Standing, shell: Shell):
    port = free_port()
    secret = standing.service.manage("tenants", "secret", "show", shell.tenant).strip()
    with receiver(shell, secret, port) as output, shell.client() as client:
        job = client.submit(standing.target.url("/page/told"), callback_url=f"http://127.0.0.1:{port}/")
        wait_until(lambda: f"{job.id} succeeded\n" in output.read_text(), what="the event to arrive")


@pytest.mark.req("FR-9")
def test_the_example_of_a_receiver_acts_once_on_what_comes_twice_also_after_a_restart(shell: Shell):
    port = free_port()
    body, headers = signed_call()
    for _ in range(2):
        with receiver(shell, SECRET, port) as output:
            for _ in range(2):
                answer = requests.post(f"http://127.0.0.1:{port}/", data=body, headers=headers, timeout=10)
                assert answer.status_code == 204
    assert [line for line in output.read_text().splitlines() if "HTTP" not in line] == ["j1 failed"]


def answers(port: int) -> bool:
    """Whether the receiver is there; what is not signed is refused."""
    try:
        return requests.post(f"http://127.0.0.1:{port}/", data=b"{}", timeout=5).status_code == 401
    except requests.ConnectionError:
        return False


@pytest.mark.req("FR-8")
def test_the_lines_on_the_page_of_the_command_line_work_in_their_order(standing: Standing, shell: Shell):
    (shell.folder / "urls.txt").write_text(standing.target.url("/page/line") + "\n")
    script = "\n".join(block for block in blocks("command-line.md", "sh") if "export" not in block)
    script = script.replace("https://example.com/", standing.target.url("/page/example"))
    done = shell.run("bash", "-euxo", "pipefail", "-c", script)
    assert done.returncode == 0, done.stderr
    (file,) = (shell.folder / "results").iterdir()
    assert file.read_bytes() == page("/page/line")
    assert json.loads((shell.folder / "jobs.ndjson").read_text())["status"] == "succeeded"


@pytest.mark.parametrize("name", ["python-client.md", "bulk.md"])
@pytest.mark.req("FR-8")
def test_the_python_on_the_pages_runs(standing: Standing, shell: Shell, name: str):
    (shell.folder / "urls.txt").write_text(standing.target.url("/page/python") + "\n")
    program = "\n".join(blocks(name, "python")).replace("https://example.com/", standing.target.url("/page/python"))
    done = shell.run(sys.executable, "-W", "ignore", "-c", program)
    assert done.returncode == 0, done.stderr
    assert "succeeded" in done.stdout


@pytest.mark.req("FR-2")
def test_the_curl_line_of_the_page_on_keys_gives_one_job_however_often_it_is_sent(standing: Standing, shell: Shell):
    (line,) = blocks("idempotency.md", "sh")
    line = line.replace("https://example.com/", standing.target.url("/page/key"))
    first, second = (shell.run("bash", "-ec", line) for _ in range(2))
    assert json.loads(first.stdout)["id"] == json.loads(second.stdout)["id"]


def signed_call() -> tuple[str, dict[str, str]]:
    """A body and its headers, by the published library."""
    now = datetime.now(UTC)
    body = json.dumps({"id": "j1", "status": "failed", "finished_at": now.isoformat(), "links": {}})
    return body, {
        "webhook-id": "e1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": f"v1,AAAA {Webhook(SECRET).sign('e1', now, body)}",
    }


@pytest.mark.req("FR-9")
def test_the_python_that_verifies_on_the_page_takes_what_is_signed_and_no_more():
    (code,) = blocks("webhooks.md", "python")
    space: dict[str, object] = {}
    exec(code, space)  # noqa: S102 - it is the page that is tested
    receive = space["receive"]
    body, headers = signed_call()
    assert receive(body.encode(), headers, SECRET) == 204
    assert receive(body.encode() + b" ", headers, SECRET) == 401


NODE = """
const cases = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
for (const { body, headers, secret, now } of cases) {
  try { console.log(verifyWebhook(Buffer.from(body), headers, secret, now).id); }
  catch (error) { console.log("refused"); }
}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
@pytest.mark.req("FR-9")
def test_the_node_that_verifies_on_the_page_takes_what_is_signed_and_no_more():
    (code,) = blocks("webhooks.md", "js")
    body, headers = signed_call()
    good = {"body": body, "headers": headers, "secret": SECRET, "now": time.time()}
    cases = [
        good,
        good | {"body": body + " "},
        good | {"now": time.time() + 400},
        good | {"secret": "whsec_" + "A" * 32},
        good | {"headers": headers | {"webhook-id": "e2"}},
        good | {"headers": headers | {"webhook-signature": "v1,"}},
        good | {"headers": headers | {"webhook-timestamp": "x"}},
        good | {"headers": {}},
    ]
    done = subprocess.run(
        ["node", "-e", code + NODE], input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["j1"] + ["refused"] * 7, done.stderr
