import json
import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
import structlog
from aiohttp._cookie_helpers import parse_set_cookie_headers

from scrapejobs.telemetry import log


class Stdout:
    """What was written to stdout since the last look."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def text(self) -> str:
        return self._captured.readouterr().out


@pytest.fixture
def stdout(capsys: pytest.CaptureFixture[str]) -> Iterator[Stdout]:
    """Where the log goes; logging and structlog are as before afterwards."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield Stdout(capsys)
    logging.captureWarnings(False)
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    log.WRITTEN.steps = True


def lines(out: Stdout) -> list[dict[str, Any]]:
    written = out.text()
    assert written == "" or written.endswith("\n")
    assert written.isascii()
    assert len(written.splitlines()) == written.count("\n")
    return [json.loads(line) for line in written.splitlines()]


def test_a_line_says_when_what_and_who(stdout: Stdout):
    log.configure(role="worker", service="w1")
    structlog.get_logger().info("settled", n=3)
    (line,) = lines(stdout)
    assert datetime.fromisoformat(line.pop("time")).utcoffset().total_seconds() == 0
    assert line == {"level": "info", "event": "settled", "role": "worker", "service": "w1", "n": 3}


@pytest.mark.parametrize(
    "message",
    [
        "two\nlines",
        "a\r\nb",
        "next\x85line",
        "line\u2028separator",
        "\x1b[2Jscreen",
        '"}\n{"level": "x"',
        "lone \ud800",
        "",
    ],
)
@pytest.mark.req("NFR-12")
def test_a_record_is_one_line_whatever_its_message_holds(stdout: Stdout, message: str):
    log.configure(role="worker", service="w1")
    logging.getLogger("aiohttp.client").warning("%s", message)
    (line,) = lines(stdout)
    assert (line["event"], line["logger"], line["message"]) == ("log", "aiohttp.client", message)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("http://ann:s3cret@shop.example/p", "http://***@shop.example/p"),
        ("postgres://u:p@ss@127.0.0.1/db", "postgres://***@127.0.0.1/db"),
        ("https://shop.example/p?token=s3cret&b=1 failed", "https://shop.example/p?*** failed"),
        ("GET /v1/jobs?key=s3cret", "GET /v1/jobs?***"),
        ("{'Authorization': 'Bearer s3.cr-et=='}", "{'Authorization': 'Bearer ***'}"),
        ("Basic czNjcmV0", "Basic ***"),
        ("key sj_abc_s3cret", "key sj_***"),
        ("whsec_s3cret+/=", "whsec_***"),
        ("why? because a=b", "why? because a=b"),
    ],
)
@pytest.mark.req("NFR-12")
def test_credentials_and_queries_are_masked(stdout: Stdout, message: str, shown: str):
    log.configure(role="worker", service="w1")
    logging.getLogger("urllib3").warning("%s", message)
    structlog.get_logger().warning("tried", detail=message)
    record, event = lines(stdout)
    assert record["message"] == shown
    assert event["detail"] == shown


@pytest.mark.req("NFR-12")
def test_an_error_is_told_with_its_trace_and_without_secrets(stdout: Stdout):
    log.configure(role="worker", service="w1")
    try:
        int("http://u:s3cret@h/")
    except ValueError:
        logging.getLogger("asyncio").exception("Task failed")
    (line,) = lines(stdout)
    assert line["error"] == "ValueError: invalid literal for int() with base 10: 'http://***@h/'"
    assert "test_log.py" in line["trace"]
    assert "invalid literal for int() with base 10: 'http://***@h/'" in line["trace"]


def test_libraries_are_heard_from_warning_up_and_granian_from_info_up(stdout: Stdout):
    log.configure(role="gateway", service="g1", level="debug")
    logging.getLogger("botocore.auth").debug("signature")
    logging.getLogger("asyncio").info("loop")
    logging.getLogger("django.request").warning("Not Found: /x")
    assert lines(stdout) == []
    logging.getLogger("_granian").info("Listening")
    logging.getLogger("django.request").error("Internal Server Error")
    assert [line["logger"] for line in lines(stdout)] == ["_granian", "django.request"]


def test_a_level_between_the_known_ones_and_odd_values_are_written(stdout: Stdout):
    log.configure(role="worker", service="w1")
    logging.getLogger("odd").log(35, "between")
    structlog.get_logger().info("odd", seconds=float("nan"), half=0.5, flag=True, what={"a": object}, none=None)
    between, odd = lines(stdout)
    assert between["level"] == "warning"
    assert (odd["seconds"], odd["half"], odd["flag"], odd["none"]) == ("nan", 0.5, True, None)
    assert odd["what"] == str({"a": object})


def test_a_field_is_cut_off_at_its_longest(stdout: Stdout):
    log.configure(role="worker", service="w1")
    structlog.get_logger().info("long", text="x" * 10_000)
    (line,) = lines(stdout)
    assert len(line["text"]) == 8192


def test_a_record_that_cannot_be_written_stops_nobody(stdout: Stdout, capsys: pytest.CaptureFixture[str]):
    log.configure(role="worker", service="w1")
    logging.getLogger("broken").warning("%d", "not a number")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "not a number" in captured.err


def test_below_its_level_nothing_is_written(stdout: Stdout):
    log.configure(role="worker", service="w1", level="info")
    structlog.get_logger().debug("step")
    log.step("step")
    assert lines(stdout) == []


@pytest.mark.req("FR-13")
def test_at_level_debug_steps_are_written(stdout: Stdout):
    log.configure(role="worker", service="w1", level="debug")
    log.step("step", n=1)
    assert [(line["level"], line["event"], line["n"]) for line in lines(stdout)] == [("debug", "step", 1)]


@pytest.mark.req("NFR-12")
def test_what_a_target_sent_does_not_come_into_the_log_through_a_library(stdout: Stdout):
    log.configure(role="worker", service="w1")
    parse_set_cookie_headers(["sent by=a target"])
    assert lines(stdout) == []
