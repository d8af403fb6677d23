"""What the command line reads, and what it shows, without a service."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from scrapejobs_client.cli.exits import WrongUseError
from scrapejobs_client.cli.reading import jobs_in
from scrapejobs_client.cli.showing import cell


def read(tmp_path: Path, text: str, **defaults: object) -> list[dict[str, object]]:
    file = tmp_path / "jobs"
    file.write_text(text)
    return list(jobs_in(str(file), defaults))


@pytest.mark.req("FR-3")
def test_a_line_is_a_url_or_a_job_and_its_own_fields_win(tmp_path: Path):
    text = '  http://a/ \n\n# no\n{"url": "http://b/", "priority": "high", "tags": {"x": "2", "y": "3"}}\n'
    assert read(tmp_path, text, priority="low", tags={"x": "1"}) == [
        {"url": "http://a/", "priority": "low", "tags": {"x": "1"}},
        {"url": "http://b/", "priority": "high", "tags": {"x": "2", "y": "3"}},
    ]


@pytest.mark.parametrize("line", ['{"url": "http://a/"', "{}}", "{nope}"])
def test_a_line_that_is_neither_is_named_by_its_number(tmp_path: Path, line: str):
    with pytest.raises(WrongUseError, match="line 3 is neither"):
        read(tmp_path, f"http://a/\n\n{line}\n")


def test_tags_that_are_none_are_left_for_the_service_to_refuse(tmp_path: Path):
    assert read(tmp_path, '{"url": "u", "tags": [1]}', tags={"x": "1"}) == [{"url": "u", "tags": [1]}]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ("", "-"),
        (3, "3"),
        (
            "\x1b[31mred\x1b[0m\n",
            "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}[0m\N{REPLACEMENT CHARACTER}",
        ),
        ("a\N{RIGHT-TO-LEFT OVERRIDE}b", "a\N{REPLACEMENT CHARACTER}b"),
        (datetime(2026, 12, 1, 12, tzinfo=UTC), "2026-12-01 12:00:00Z"),
    ],
)
def test_what_is_shown_is_one_line_that_cannot_steer_a_terminal(value: object, text: str):
    assert cell(value) == text
