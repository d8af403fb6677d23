import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import load_command_class
from django.core.management.base import BaseCommand

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = sorted(file.stem for file in (ROOT / "scrapejobs/ops/management/commands").glob("[!_]*.py"))
PAGE = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `(\w+)`$\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The long options of a command and of its actions, and the names of the actions."""
    for action in parser._actions:
        yield from (flag for flag in action.option_strings if flag.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices
            for choice in action.choices.values():
                yield from flags(choice)


@pytest.mark.req("FR-13")
def test_the_page_of_commands_has_each_command_once():
    assert sorted(re.findall(r"^## `(\w+)`$", PAGE, re.MULTILINE)) == COMMANDS


@pytest.mark.req("FR-13")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_names_every_option_of_a_command_and_no_other(name: str):
    of_all = set(flags(BaseCommand().create_parser("manage.py", "none")))
    own = set(flags(load_command_class("scrapejobs.ops", name).create_parser("manage.py", name))) - of_all
    section = SECTIONS[name]
    words = {flag for flag in own if not flag.startswith("--")}
    assert set(re.findall(r"--[a-z-]+", section)) == own - words
    assert {word for word in words if not re.search(rf"\b{word}\b", section)} == set()
