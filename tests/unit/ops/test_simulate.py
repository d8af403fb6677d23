"""`manage.py simulate`: what it prints, and when it fails."""

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

SCENARIO = """
title = "mine"
slots = 2
[[arrivals]]
tenant = "a"
host = "h"
jobs = 3
[[expect]]
kind = "greatest_wait"
at_most = {at_most}
"""


@pytest.fixture
def mine(tmp_path: Path):
    def write(at_most: float) -> str:
        file = tmp_path / "mine.toml"
        file.write_text(SCENARIO.format(at_most=at_most))
        return str(file)

    return write


def told(*arguments: str) -> str:
    out = StringIO()
    call_command("simulate", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.req("NFR-5")
def test_a_scenario_is_told_as_a_table_and_as_json(mine: Callable[[float], str]):
    assert "tenant    a       3        3        3" in told(mine(1))
    report = json.loads(told(mine(1), "--json"))
    assert [(row["kind"], row["name"], row["attempts"], row["wait_max"]) for row in report["rows"]] == [
        ("tenant", "a", 3, 1.0), ("priority", "normal", 3, 1.0), ("host", "h", 3, 1.0),
    ]  # fmt: skip
    assert [finding["is_met"] for finding in report["expectations"]] == [True, True]


@pytest.mark.req("NFR-5")
def test_an_expectation_that_is_not_met_fails_the_command(mine: Callable[[float], str]):
    with pytest.raises(CommandError, match="1 of 2 expectations not met") as failure:
        told(mine(0.5))
    assert failure.value.returncode == 1


@pytest.mark.req("FR-12")
def test_slots_weights_and_rates_of_a_scenario_can_be_changed(mine: Callable[[float], str]):
    report = json.loads(told(mine(9), "--json", "--slots", "1", "--weight", "a=2", "--host-rate", "h=0.25"))
    assert report["slots"] == 1
    assert report["rows"][0]["wait_max"] == 8  # one start in four seconds


@pytest.mark.parametrize("change", [("--weight", "nobody=2"), ("--host-rate", "nowhere=1")])
def test_a_change_of_what_is_not_in_the_scenario_is_wrong_use(change: tuple[str, str], mine: Callable[[float], str]):
    with pytest.raises(CommandError, match="there is no") as failure:
        told(mine(9), *change)
    assert failure.value.returncode == 2


@pytest.mark.parametrize("wrong", [("--replay", "1"), ("--replay", "31d"), ("--weight", "a"), ("--slots", "0")])
def test_a_wrong_option_is_refused(wrong: tuple[str, str]):
    with pytest.raises(CommandError):
        told(*wrong)


def test_the_page_is_written_where_it_is_asked_for(mine: Callable[[float], str], tmp_path: Path):
    told(mine(1), "--html", str(tmp_path / "mine.html"))
    assert "<title>mine</title>" in (tmp_path / "mine.html").read_text("utf-8")
    with pytest.raises(CommandError, match="No such file"):
        told(mine(1), "--html", str(tmp_path / "no" / "mine.html"))


def test_without_a_name_the_shipped_scenarios_are_listed():
    assert "sixty-tenants" in told()
    assert {"name": "sixty-tenants", "title": "sixty tenants share by weight"} in json.loads(told("--json"))


def test_what_is_no_scenario_is_wrong_use(tmp_path: Path):
    (tmp_path / "bad.toml").write_text("title = 3")
    for name in ("no-such", str(tmp_path / "bad.toml"), str(tmp_path)):
        with pytest.raises(CommandError) as failure:
            told(name)
        assert failure.value.returncode == 2


def test_the_example_of_the_docs_prints_what_the_docs_show(tmp_path: Path):
    page = (Path(__file__).resolve().parents[3] / "docs/howto/simulate.md").read_text("utf-8")
    (scenario,), (shown,) = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("toml", "text"))
    (tmp_path / "mine.toml").write_text(scenario)
    assert told(str(tmp_path / "mine.toml")).strip() == shown.strip()
