"""The roles' JSON lines as a person sees them."""

import json

import pytest

from scrapejobs.ops.local.readable import Log

LINE = json.dumps(
    {"time": "2026-11-30T23:59:58.123Z", "level": "info", "event": "job_claimed", "role": "worker", "n": 3}
)


def test_a_json_line_shows_its_time_its_event_and_its_fields():
    assert Log(colours=False).line("worker-1", LINE) == "worker-1   23:59:58 job_claimed  n=3"


def test_a_record_of_a_library_is_shown_by_its_message():
    line = json.dumps({"event": "log", "level": "info", "logger": "granian", "message": "Started"})
    assert Log(colours=False).line("gateway", line) == "gateway    Started  logger=granian"


@pytest.mark.parametrize("text", ["plain words", "{not json", '["a", "list"]', "{"])
def test_any_other_line_is_shown_as_it_is(text: str):
    assert Log(colours=False).line("up", text) == f"up         {text}"


@pytest.mark.req("NFR-12")
def test_a_scraped_value_cannot_steer_the_terminal():
    hostile = json.dumps({"event": "fetched", "title": "\x1b]0;owned\x07\r\n\x1b[2J"})
    shown = Log(colours=False).line("worker-1", hostile)
    assert shown.isprintable()


def test_each_process_keeps_its_colour_and_an_error_is_red():
    log = Log(colours=True)
    first, second = log.line("gateway", "a"), log.line("worker-1", "a")
    assert first.startswith("\x1b[36m")
    assert second.startswith("\x1b[32m")
    assert log.line("gateway", "b").startswith("\x1b[36m")
    assert "\x1b[31mbroken\x1b[0m" in log.line("gateway", '{"event": "broken", "level": "error"}')
