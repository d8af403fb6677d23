"""`manage.py scrape` as a person uses it, on real roles."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.service import ROOT, Service
from tests.e2e.target import Target, page


def scrape(service: Service, *arguments: str, key: str, directory: Path) -> "subprocess.CompletedProcess[bytes]":
    file = directory / "key"
    file.write_text(key)
    argv = [sys.executable, "manage.py", "scrape", "--key-file", str(file), *arguments]
    env = {**service._env, "HTTP_PROXY": "http://127.0.0.1:1"}  # of the shell, and not for our own servers
    return subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, timeout=60, check=False)


@pytest.mark.req("FR-1")
@pytest.mark.req("FR-8")
def test_scrape_prints_the_bytes_or_the_reason_and_its_exit_code_tells_which(
    service: Service, target: Target, tmp_path: Path
) -> None:
    service.start_all()
    key = service.key("default")
    good = scrape(service, target.url("/page/1"), key=key, directory=tmp_path)
    assert (good.returncode, good.stdout) == (0, page("/page/1")), good.stderr
    refused = scrape(service, "ftp://127.0.0.1/x", key=key, directory=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, b"")
    unreachable = scrape(service, "http://10.0.0.1/", key=key, directory=tmp_path)
    assert (unreachable.returncode, unreachable.stdout) == (2, b"")
    nobody = scrape(service, target.url("/page/1"), key="sj_no_key", directory=tmp_path)
    assert (nobody.returncode, nobody.stdout) == (1, b"")
    assert refused.stderr.count(b"only http and https may be fetched") == 1, refused.stderr
    for failed in (refused, unreachable, nobody):
        assert b"Traceback" not in failed.stderr
        assert failed.stderr.count(b"\n") == 1, failed.stderr
