from pathlib import Path

from scrapejobs_client.cli.reference import page

PAGE = Path(__file__).resolve().parents[3] / "docs/reference/command-line.md"


def test_the_page_of_the_command_line_is_fresh():
    assert PAGE.read_text("utf-8") == page(), "run: make docs"
