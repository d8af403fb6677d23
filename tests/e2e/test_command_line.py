"""The command `scrapejobs` as people and pipes use it, on the real service."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.service import ROOT
from tests.e2e.standing import Listen, Standing
from tests.e2e.target import page
from tests.e2e.waiting import wait_until

COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
NOBODY = "01a23172-71a2-77d5-9bd5-56eec5b3414d"


class CommandLine:
    """Runs the command in a folder of its own."""

    def __init__(self, standing: Standing, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "client"),
            "TERM": "xterm-256color",
            "COLUMNS": "200",
            **standing.environment(),
        }

    def start(self, *arguments: str, **options: object) -> "subprocess.Popen[str]":
        argv = [sys.executable, "-m", "scrapejobs_client", *arguments]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": self.environment, **options}
        return subprocess.Popen(argv, cwd=self.folder, stdin=subprocess.PIPE, text=True, **options)

    def __call__(
        self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        process = self.start(*arguments, env={**self.environment, **(env or {})})
        out, err = process.communicate(stdin, timeout=60)
        assert "Traceback" not in err
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def on_a_terminal(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """What a person sees, with all that steers the terminal."""
        ours, theirs = pty.openpty()
        process = self.start(*arguments, stdout=theirs, stderr=theirs, env={**self.environment, **(env or {})})
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            """Linux says so when the other end is closed."""
        finally:
            os.close(ours)
        process.communicate(timeout=60)
        return shown.decode()


@pytest.fixture
def command(standing: Standing, tmp_path: Path) -> CommandLine:
    return CommandLine(standing, tmp_path)


def n_jobs(standing: Standing) -> int:
    return int(standing.service.rows("SELECT count(*) FROM job")[0][0])


@pytest.mark.req("FR-3")
@pytest.mark.req("FR-8")
def test_a_file_of_urls_becomes_a_folder_of_results(standing: Standing, command: CommandLine):
    paths = [f"/page/folder-{n}" for n in range(5)]
    (command.folder / "urls.txt").write_text("# comment\n\n" + "".join(f"{standing.target.url(p)}\n" for p in paths))
    submitted = command("submit", "urls.txt")
    assert (submitted.returncode, submitted.stderr) == (0, "5 accepted, 0 refused\n")
    downloaded = command("download", "-", "--out", "a/b", "--names", "url", stdin=submitted.stdout)
    assert (downloaded.returncode, downloaded.stderr) == (0, "5 files, 0 without\n")
    files = sorted(command.folder / name for name in downloaded.stdout.splitlines())
    assert [file.read_bytes() for file in files] == [page(path) for path in paths]
    ids = submitted.stdout.split()
    assert [file.name for file in files] == [f"127.0.0.1_page_folder-{n}_{id_}.bin" for n, id_ in enumerate(ids)]


@pytest.mark.req("FR-3")
def test_lines_of_json_are_jobs_and_a_refused_one_is_told_and_holds_up_no_other(
    standing: Standing, command: CommandLine
):
    url = standing.target.url("/page/json")
    jobs = [{"url": url, "tags": {"n": "1"}}, {"url": "ftp://127.0.0.1/"}, {"url": url, "priority": "low"}]
    given = "".join(json.dumps(job) + "\n" for job in jobs)
    done = command("submit", "-", "--json", "--tag", "run=json", "--priority", "high", stdin=given)
    assert done.returncode == 1
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert (first["n"], first["status"], third["n"]) == (1, "queued", 3)
    assert (second["n"], second["problem"]) == (2, "url-not-allowed")
    assert "job 2: url-not-allowed" in done.stderr
    assert "2 accepted, 1 refused" in done.stderr
    told = command("status", "--json", "--tag", "run=json")
    newest, oldest = map(json.loads, told.stdout.splitlines())
    assert (newest["id"], newest["priority"], newest["tags"]) == (third["id"], "low", {"run": "json"})
    assert (oldest["id"], oldest["priority"], oldest["tags"]) == (first["id"], "high", {"run": "json", "n": "1"})
    fetched = command("download", "-", "--json", stdin=done.stdout)  # what was refused is passed over
    assert {json.loads(line)["id"] for line in fetched.stdout.splitlines()} == {first["id"], third["id"]}


@pytest.mark.req("FR-4")
def test_waiting_tells_how_each_job_ended_and_the_exit_code_whether_all_did_well(
    standing: Standing, command: CommandLine
):
    urls = f"{standing.target.url('/page/wait')}\n{standing.target.url('/status/404')}\n"
    done = command("submit", "-", "--wait", stdin=urls)
    assert done.returncode == 1
    header, good, bad = done.stdout.splitlines()
    assert header.split() == ["ID", "STATUS", "ATTEMPTS", "WHY", "URL"]
    assert good.split()[1:] == ["succeeded", "1/5", "-", standing.target.url("/page/wait")]
    assert bad.split()[1:] == ["failed", "1/5", "http_404", standing.target.url("/status/404")]
    assert done.stderr.splitlines()[-1] == "1 failed, 1 succeeded"
    assert command("watch", good.split()[0]).returncode == 0
    got = command("download", bad.split()[0])
    assert (got.returncode, got.stdout) == (1, "")
    assert got.stderr.splitlines() == [f"{bad.split()[0]}: failed", "0 files, 1 without"]


@pytest.mark.req("FR-2")
@pytest.mark.req("FR-3")
def test_a_submission_with_a_state_file_hands_nothing_in_twice(standing: Standing, command: CommandLine):
    file = command.folder / "urls"
    file.write_text(f"{standing.target.url('/page/state-1')}\n{standing.target.url('/page/state-2')}\n")
    assert len(command("submit", "urls", "--state", "run.state").stdout.split()) == 2
    before = n_jobs(standing)
    again = command("submit", "urls", "--state", "run.state")
    assert (again.returncode, again.stdout, n_jobs(standing)) == (0, "", before)
    file.write_text("https://example.com/other\n")
    other = command("submit", "urls", "--state", "run.state")
    assert (other.returncode, n_jobs(standing)) == (2, before)
    assert "first 2 jobs" in other.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('http://127.0.0.1/\n{"url": \n', "line 2 is neither a URL nor a job as JSON"),
        ("http://127.0.0.1/\n\xff", "not text in UTF-8"),
    ],
)
def test_a_mistake_in_a_file_stops_all_before_anything_is_handed_in(
    standing: Standing, command: CommandLine, text: str, told: str
):
    (command.folder / "jobs").write_bytes(text.encode("latin-1"))
    before = n_jobs(standing)
    done = command("submit", "jobs")
    assert (done.returncode, n_jobs(standing)) == (2, before)
    assert told in done.stderr


@pytest.mark.req("FR-5")
@pytest.mark.req("FR-10")
def test_jobs_are_cancelled_and_requeued_by_id_and_by_tag(standing: Standing, command: CommandLine):
    held, gone = standing.target.url("/hold/tag"), standing.target.url("/status/410")
    ids = command("submit", "-", "--tag", "run=tag", stdin=f"{held}\n{gone}\n").stdout.split()
    standing.service.wait_for(ids[1], "failed")
    cancelled = command("cancel", "--tag", "run=tag")
    assert (cancelled.returncode, cancelled.stdout) == (0, f"{ids[0]}  cancelled\n")
    requeued = command("requeue", "--tag", "run=tag", "--json")
    assert json.loads(requeued.stdout) == {"id": ids[1], "status": "queued"}
    assert standing.service.wait_for(ids[1], "failed")["attempts"] == 1
    refused = command("requeue", ids[0], NOBODY)
    assert refused.returncode == 1
    assert "not-failed" in refused.stderr
    assert "not-found" in refused.stderr


@pytest.mark.req("FR-4")
def test_a_job_that_is_not_there_is_told_beside_those_that_are(standing: Standing, command: CommandLine):
    (id_,) = command("submit", "-", stdin=standing.target.url("/page/there")).stdout.split()
    done = command("status", "--json", id_, NOBODY)
    assert done.returncode == 1
    assert json.loads(done.stdout)["id"] == id_
    assert done.stderr == f"{NOBODY}: there is no such job\n"


@pytest.mark.parametrize(
    ("arguments", "env", "code", "told"),
    [
        (["status"], {"SCRAPEJOBS_KEY": ""}, 2, "SCRAPEJOBS_KEY"),
        (["status"], {"SCRAPEJOBS_URL": ""}, 2, "SCRAPEJOBS_URL"),
        (["status"], {"SCRAPEJOBS_URL": "example.com"}, 2, "not the address of an API"),
        (["status", "--key-file", "none"], {}, 2, "none: No such file"),
        (["status", "--key", "sj_a_b"], {}, 2, "unrecognized arguments"),
        (["status", "x"], {}, 2, "x is not the id of a job"),
        (["cancel"], {}, 2, "which jobs?"),
        (["cancel", NOBODY, "--tag", "a=b"], {}, 2, "which jobs?"),
        (["watch", "--tag", "a"], {}, 2, "not K=V"),
        (["submit", "none"], {}, 2, "none: No such file"),
        (["fetch"], {}, 2, "invalid choice"),
        (["status", "--limit", "0"], {}, 2, "not a whole number"),
        (
            ["status", "--retry-for", "0"],
            {"SCRAPEJOBS_URL": "http://127.0.0.1:1"},
            3,
            "no answer from http://127.0.0.1:1",
        ),
        (["status"], {"SCRAPEJOBS_KEY": "sj_no_key"}, 4, "unauthenticated"),
    ],
)
def test_the_exit_code_tells_whose_turn_it_is(
    command: CommandLine, arguments: list[str], env: dict[str, str], code: int, told: str
):
    done = command(*arguments, env=env)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr


def test_a_key_may_come_from_a_file(command: CommandLine):
    (command.folder / "key").write_text(command.environment["SCRAPEJOBS_KEY"] + "\n")
    assert command("status", "--key-file", "key", env={"SCRAPEJOBS_KEY": ""}).returncode == 0


def test_colours_are_for_terminals_and_not_for_who_wants_none(standing: Standing, command: CommandLine):
    urls = standing.target.url("/page/colour")
    (id_,) = command("submit", "-", "--wait", stdin=urls, env={"FORCE_COLOR": ""}).stdout.splitlines()[1].split()[:1]
    assert COLOUR.search(command.on_a_terminal("status", id_))
    assert not COLOUR.search(command.on_a_terminal("status", id_, env={"NO_COLOR": "1"}))
    assert "\x1b" not in command("status", id_).stdout
    assert id_ in command.on_a_terminal("watch", id_)


def test_ctrl_c_ends_the_watching_and_not_the_jobs(standing: Standing, command: CommandLine):
    (id_,) = command("submit", "-", stdin=standing.target.url("/hold/ctrl-c")).stdout.split()
    standing.target.wait_for("/hold/ctrl-c")
    listen = Listen()
    standing.api.bring(listen)
    process = command.start("watch", id_)
    wait_until(lambda: any(id_ in head for head in listen.heads), what="the command to ask for the job")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "scrapejobs: interrupted; the jobs go on\n")
    assert standing.service.job(id_)["status"] == "running"
    command("cancel", id_)


def test_a_reader_that_has_seen_enough_is_no_error(standing: Standing, command: CommandLine):
    command("submit", "-", stdin=standing.target.url("/page/pipe"))
    process = command.start("status", "--json")
    process.stdout.close()
    process.stdin.close()
    process.stdin = process.stdout = None
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
