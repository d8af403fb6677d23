"""The embedded servers: what they keep, whom they serve, and how they end."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import psycopg
import pytest
import redis

from scrapejobs.adapters import embedded
from scrapejobs.adapters.embedded.account import Account, unprivileged
from tests import servers

pytestmark = pytest.mark.req("NFR-3")

WAIT_S = 20.0


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A path with spaces below a folder of mode 700."""
    closed = tmp_path / "only for me"
    closed.mkdir(mode=0o700)
    place = closed / "data of a stack"
    yield place
    servers.remove(place)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def processes_in(directory: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(directory):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def answers(database_url: str) -> bool:
    with psycopg.connect(database_url) as connection:
        return connection.execute("select 1").fetchone() == (1,)


def object_store(environment: dict[str, str]) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=environment["S3_ENDPOINT_URL"],
        aws_access_key_id=environment["S3_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["S3_SECRET_ACCESS_KEY"],
        region_name="us-east-1",
    )


def test_all_three_keep_what_they_were_given_through_a_kill_and_through_a_new_start(data_dir: Path):
    with embedded.hold(data_dir):
        first = embedded.start_servers(data_dir)
        reached_by = dict(first.environment)
        with psycopg.connect(reached_by["DATABASE_URL"], autocommit=True) as connection:
            connection.execute("create table kept as select 42 as n")
        store = object_store(reached_by)
        store.create_bucket(Bucket="kept")
        store.put_object(Bucket="kept", Key="a b+c", Body=b"bytes")
        for name in embedded.NAMES:
            first[name].kill()
            assert not first[name].is_running
            first[name].start()
        with psycopg.connect(reached_by["DATABASE_URL"]) as connection:
            assert connection.execute("select n from kept").fetchone() == (42,)
        first.stop()

        second = embedded.start_servers(data_dir)
        try:
            assert dict(second.environment) == reached_by
            with psycopg.connect(reached_by["DATABASE_URL"]) as connection:
                assert connection.execute("select n from kept").fetchone() == (42,)
                assert connection.execute("show fsync").fetchone() == ("on",)
            assert object_store(reached_by).get_object(Bucket="kept", Key="a b+c")["Body"].read() == b"bytes"
            assert redis.Redis.from_url(reached_by["REDIS_URL"]).ping()
        finally:
            second.stop()


def test_what_a_killed_server_left_lying_does_not_stop_the_next_one(data_dir: Path):
    with embedded.hold(data_dir):
        embedded.start_servers(data_dir, want=["postgres", "s3"]).stop()
        # The number in a stale postmaster.pid may belong to any process of that user by now.
        account = unprivileged()
        other = subprocess.Popen(["sleep", "60"], **(account.as_keywords() if account else {}))
        stale = data_dir / "postgres" / "postmaster.pid"
        stale.write_text(f"{other.pid}\n{data_dir}\n0\n5432\n\n\n0 0\n")
        half_written = data_dir / "s3" / "bucket" / ".rclone_temp_put_1"
        half_written.parent.mkdir()
        half_written.touch()
        started = embedded.start_servers(data_dir, want=["postgres", "s3"])
        try:
            assert not half_written.exists()
            assert answers(started.environment["DATABASE_URL"])
            assert other.poll() is None
        finally:
            started.stop()
            other.kill()
            other.wait()


def test_a_cluster_that_was_not_finished_is_made_anew(data_dir: Path):
    with embedded.hold(data_dir):
        embedded.start_servers(data_dir, want=["postgres"]).stop()
        cluster = (data_dir / "postgres").resolve()
        cluster.rename(cluster.with_name("postgres.unfinished"))
        started = embedded.start_servers(data_dir, want=["postgres"])
        try:
            assert answers(started.environment["DATABASE_URL"])
        finally:
            started.stop()


def test_the_servers_end_with_a_parent_that_is_killed(data_dir: Path):
    program = """
        import os, pathlib, signal, sys
        from scrapejobs.adapters import embedded
        data_dir = pathlib.Path(sys.argv[1])
        with embedded.hold(data_dir):
            embedded.start_servers(data_dir)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(data_dir)], cwd=servers.ROOT, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert (data_dir / "servers.json").exists()
    wait_for(lambda: not processes_in(data_dir) and not processes_in((data_dir / "postgres").resolve()))
    with embedded.hold(data_dir):
        embedded.start_servers(data_dir).stop()


def test_a_server_that_outlived_its_parent_is_stopped_before_the_next_starts(data_dir: Path):
    with embedded.hold(data_dir):
        first = embedded.start_servers(data_dir, want=["valkey"])
        server = first["valkey"]
        first.stop()
        with (data_dir / "orphan.log").open("wb") as log:
            orphan = subprocess.Popen(server.argv, cwd=server.directory, stdout=log)
        with redis.Redis.from_url(server.url) as client:
            wait_for(lambda: _answers(client))
        second = embedded.start_servers(data_dir, want=["valkey"])
        try:
            assert orphan.wait(WAIT_S) is not None
            assert second.environment == first.environment
        finally:
            second.stop()


def test_a_person_who_stands_in_the_directory_is_left_alone(data_dir: Path):
    with embedded.hold(data_dir):
        embedded.start_servers(data_dir, want=["valkey"]).stop()
        visitor = subprocess.Popen(["sleep", "60"], cwd=data_dir / "valkey")
        try:
            embedded.start_servers(data_dir, want=["valkey"]).stop()
            assert visitor.poll() is None
        finally:
            visitor.kill()
            visitor.wait()


def test_a_port_that_a_stranger_took_is_left_to_the_stranger(data_dir: Path):
    with embedded.hold(data_dir):
        first = embedded.start_servers(data_dir, want=["valkey"])
        port = first["valkey"].port
        first.stop()
        with socket.create_server(("127.0.0.1", port)):
            second = embedded.start_servers(data_dir, want=["valkey"])
            second.stop()
        assert second["valkey"].port != port


def test_only_one_process_holds_a_data_directory(data_dir: Path):
    refused = pytest.raises(embedded.AlreadyRunningError, match="runs already in")
    with embedded.hold(data_dir), refused, embedded.hold(data_dir):
        pass


def test_what_cannot_start_says_why_and_leaves_nothing_running(data_dir: Path):
    with embedded.hold(data_dir):
        with pytest.raises(embedded.EmbeddedError, match="shared_buffers"):
            embedded.start_servers(data_dir, postgres_options={"shared_buffers": "nonsense"})
        assert not processes_in(data_dir)


@pytest.mark.req("NFR-12")
def test_no_secret_is_readable_by_others(data_dir: Path):
    with embedded.hold(data_dir):
        started = embedded.start_servers(data_dir)
        try:
            secrets = [part["secret"] for part in servers.remembered(data_dir).values()]
            assert len(secrets) == len(embedded.NAMES)
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                arguments = process.read_bytes() if process.exists() else b""
                assert not any(secret.encode() in arguments for secret in secrets)
        finally:
            started.stop()
        holders = [
            file
            for file in data_dir.rglob("*")
            if file.is_file() and any(s in file.read_text(errors="replace") for s in secrets)
        ]
        assert holders
        assert all(file.stat().st_mode & 0o077 == 0 for file in holders)


def test_an_account_reaches_a_file_only_through_folders_that_let_it_in(tmp_path: Path):
    stranger = Account("stranger", uid=54_321, gid=54_321)
    program = Path("/bin/sh").resolve()
    assert stranger.reaches(program)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    inside = closed / "open"
    inside.mkdir(mode=0o777)
    assert not stranger.reaches(inside)
    assert Account("owner", uid=os.geteuid(), gid=os.getegid()).reaches(inside)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
