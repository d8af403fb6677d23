"""The docs say what is true: requirements and tests name each other, links lead somewhere, words are the glossary's."""

import ast
import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
METRIC = r"[\"'](scrapejobs_[a-z_]+)"  # named in a string
STATUSES = {"held", "partly", "planned"}
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "handler", "handlers"}


@cache
def requirements() -> dict[str, dict[str, str]]:
    """Each row of the tables of requirements.md that begins with an id."""
    rows = {}
    for line in (DOCS / "requirements.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if re.fullmatch(r"(FR-|NFR-|P)\d+", cells[0]):
            assert cells[0] not in rows, f"{cells[0]} stands twice"
            rows[cells[0]] = dict(zip(("text", "source", "status", "tests"), cells[1:], strict=True))
    return rows


def marked(file: Path, mark: str) -> set[str]:
    """The ids in `pytest.mark.<mark>("...")` of a file, read without importing it."""
    ids = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == mark:
            ids |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return ids


@cache
def files_by_requirement() -> dict[str, set[str]]:
    """Requirement id to the test files, from tests/, whose markers name it."""
    found = defaultdict(set)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for id_ in marked(file, "req"):
            found[id_].add(str(file.relative_to(ROOT / "tests")))
    return found


@cache
def tracked() -> list[Path]:
    """Every file of the repository, without what is ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.split("\0")  # fmt: skip
    files = [ROOT / name for name in listed if name] or [f for f in ROOT.rglob("*") if ".venv" not in f.parts]
    return [file for file in files if file.is_file()]


def pages() -> list[Path]:
    return [file for file in tracked() if file.suffix == ".md"]


def links(page: Path) -> list[str]:
    """Relative links outside code blocks, without their anchors."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    return [target for target in targets if target and not re.match(r"[a-z]+:", target)]


def test_every_requirement_of_the_product_is_listed_once():
    wanted = {f"FR-{n}" for n in range(1, 17)} | {f"NFR-{n}" for n in range(1, 13)} | {f"P{n}" for n in range(1, 11)}
    assert set(requirements()) == wanted


def test_every_status_is_one_of_three():
    assert {row["status"] for row in requirements().values()} <= STATUSES


def test_nothing_is_held_without_a_test():
    held = {id_ for id_, row in requirements().items() if row["status"] == "held"}
    assert held - set(files_by_requirement()) == set()


def test_every_marker_names_a_requirement():
    strangers = {id_: files for id_, files in files_by_requirement().items() if id_ not in requirements()}
    assert strangers == {}


def test_the_tests_named_for_a_requirement_name_it_too():
    for id_, row in requirements().items():
        named = {cell.strip(" `") for cell in row["tests"].split(",") if cell.strip()}
        assert named <= files_by_requirement().get(id_, set()), id_
        assert named or row["status"] != "held", f"{id_} is held by no named test"


def test_every_relative_link_leads_somewhere():
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages()
        for target in links(page)
        if not (page.parent / target).exists()
    ]
    assert dead == []


def test_every_page_can_be_reached_from_the_index():
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            found = [(page.parent / target).resolve() for target in links(page)]
            waiting += [target for target in found if target.suffix == ".md" and target.exists()]
    orphans = {page for page in pages() if DOCS in page.parents and "changes" not in page.parts} - reached
    assert {str(page.relative_to(DOCS)) for page in orphans} == set()


def test_no_file_or_folder_has_a_banned_name():
    named = {part for file in tracked() for part in (*file.relative_to(ROOT).parent.parts, file.stem)}
    assert named & BANNED_NAMES == set()


def test_every_decision_is_indexed_and_has_its_four_parts():
    index = (DOCS / "adr/index.md").read_text("utf-8")
    for page in sorted((DOCS / "adr").glob("0*.md")):
        headings = re.findall(r"^## (.+)$", page.read_text("utf-8"), re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences", "Rejected"], page.name
        assert f"({page.name})" in index


def test_every_decision_that_is_cited_exists():
    numbers = {page.name[:4] for page in (DOCS / "adr").glob("0*.md")}
    sources = [file for file in tracked() if file.suffix in {".py", ".sql", ".md", ".toml"}]
    cited = {n for file in sources for n in re.findall(r"ADR-(\d{4})", file.read_text("utf-8"))}
    assert cited
    assert cited <= numbers


@pytest.mark.req("FR-13")
def test_every_metric_in_the_code_is_documented_and_the_other_way_round():
    reference = (DOCS / "reference/metrics.md").read_text("utf-8")
    documented = set(re.findall(r"^\| `(scrapejobs_[a-z_]+)`", reference, re.MULTILINE))
    assert documented
    in_code = {n for f in (ROOT / "scrapejobs").rglob("*.py") for n in re.findall(METRIC, f.read_text("utf-8"))}
    assert in_code == documented


def test_every_command_is_documented():
    reference = (DOCS / "reference/commands.md").read_text("utf-8")
    folder = ROOT / "scrapejobs/ops/management/commands"
    commands = {file.stem for file in folder.glob("[!_]*.py")}
    assert commands
    assert commands == set(re.findall(r"^## `(\w+)`", reference, re.MULTILINE))


def test_change_fragments_have_a_kind_of_the_changelog():
    for file in (DOCS / "changes").iterdir():
        if file.name != "README.md":
            assert re.fullmatch(r"[a-z0-9-]+\.(added|changed|deprecated|removed|fixed|security)\.md", file.name)
            assert file.read_text("utf-8").strip()
