"""The scorecard shows what the checker found, and says no more than can be read."""

import io
from pathlib import Path

from rich.console import Console

from tests.chaos.checker import Verdict
from tests.chaos.fault import Fault
from tests.chaos.journal import Journal, lines_of
from tests.chaos.rounds import Score
from tests.chaos.scorecard import in_words, table_of

FAULT = Fault("storm", "everything is killed", lambda *_: None)


def score(**found: tuple[str, ...]) -> Score:
    kinds = {"lost": (), "doubled": (), "wrong_states": (), "orphans": (), **found}
    verdict = Verdict(jobs=250, **kinds, recoveries_s=(2.5, 3.14159), longest_wait_s=1.0)
    return Score(FAULT, 7, verdict, 4, Path("logs"))


def test_a_row_counts_what_was_found_of_each_kind():
    text = io.StringIO()
    Console(file=text, width=120).print(table_of([score(lost=("a", "b"), orphans=("c",))]))
    (row,) = [line.split() for line in text.getvalue().splitlines() if "storm" in line]
    assert row == ["storm", "7", "250", "2", "0", "0", "1", "3.1", "s"]


def test_the_first_ten_of_each_kind_are_said_in_words():
    said = in_words(score(doubled=tuple(f"job {n}" for n in range(12)), orphans=("d/1/j/1",)))
    assert said == [*(f"doubled: job {n}" for n in range(10)), "doubled: and 2 more", "orphan: d/1/j/1", "logs: logs"]


def test_a_journal_gives_back_its_whole_lines_in_order(tmp_path: Path):
    journal = Journal(tmp_path / "log.jsonl")
    journal.note(what="kill", label="worker-0")
    journal.note(what="heal")
    with journal.file.open("a") as torn:
        torn.write('{"what": "the writer was killed he')
    journal.close()
    lines = list(lines_of(journal.file))
    assert [line["what"] for line in lines] == ["kill", "heal"]
    assert lines[0]["at"] <= lines[1]["at"]
    assert list(lines_of(tmp_path / "none.jsonl")) == []
