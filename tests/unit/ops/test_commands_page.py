import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.req("FR-13")
def test_the_page_of_commands_has_each_command_once():
    files = (ROOT / "scrapejobs/ops/management/commands").glob("[!_]*.py")
    page = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^## `(\w+)`$", page, re.MULTILINE)) == sorted(file.stem for file in files)
