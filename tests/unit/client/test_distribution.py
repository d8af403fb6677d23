"""The distribution says what it is."""

import ast
import sys
import tomllib
from pathlib import Path

from scrapejobs_client import __version__

CLIENT = Path(__file__).resolve().parents[3] / "client"
PROJECT = tomllib.loads((CLIENT / "pyproject.toml").read_text("utf-8"))["project"]


def imported(file: Path) -> set[str]:
    """The packages that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"scrapejobs_client"}


def test_the_version_is_one():
    assert PROJECT["version"] == __version__


def test_the_client_needs_requests_alone_and_the_command_rich():
    package = CLIENT / "scrapejobs_client"
    client = {name for file in package.glob("*.py") for name in imported(file)}
    command = {name for file in package.glob("cli/*.py") for name in imported(file)}
    assert client == {"requests", "urllib3"}  # requests brings urllib3
    assert command == {"rich"}
    assert [line.partition("~")[0] for line in PROJECT["dependencies"]] == ["requests"]
    assert [line.partition(">")[0] for line in PROJECT["optional-dependencies"]["cli"]] == ["rich"]
