"""The page of errors names every problem of the API and every code of a job, as the code has them."""

import re
from pathlib import Path

from scrapejobs.domain.outcome import CODES, class_of
from scrapejobs.gateway.problems import PROBLEMS

PAGE = Path(__file__).resolve().parents[2] / "docs/howto/errors.md"


def rows() -> list[list[str]]:
    """The cells of every row of every table, without the heads."""
    lines = PAGE.read_text("utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]


def test_every_problem_is_on_the_page_with_its_status():
    told = {name.strip("`"): int(second) for name, second, _ in rows() if second.isdigit()}
    assert told == {name: status.value for name, (status, _) in PROBLEMS.items()}


def test_every_code_of_a_job_is_on_the_page_with_its_class():
    told = {code: kind for names, kind, _ in rows() if not kind.isdigit() for code in re.findall(r"`(\w+)`", names)}
    assert {code for code in told if not code.startswith("http_")} == set(CODES)
    assert told == {code: class_of(code) for code in told}
