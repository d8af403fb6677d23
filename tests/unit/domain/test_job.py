"""The table of transitions, and the page that is made of it."""

from pathlib import Path

import pytest

from scrapejobs.domain.job import FINAL, PRIORITIES, TRANSITIONS, Status, targets
from scrapejobs.ops.state_chart import markdown

PAGE = Path(__file__).resolve().parents[3] / "docs" / "state-machine.md"


@pytest.mark.req("P2")
def test_a_final_state_is_left_by_a_person_alone() -> None:
    assert {(t.source, t.verb) for t in TRANSITIONS if t.source in FINAL} == {
        (Status.FAILED, "requeue"),
        (Status.FAILED, "discard"),
    }


@pytest.mark.req("FR-5")
def test_targets_are_the_arrows_of_the_table() -> None:
    assert targets(Status.RUNNING, "report") == {Status.SUCCEEDED, Status.FAILED, Status.QUEUED}
    assert targets(Status.QUEUED, "report") == frozenset()
    assert targets(Status.SUCCEEDED, "cancel") == frozenset()


@pytest.mark.req("NFR-5")
def test_the_queues_are_high_normal_and_low() -> None:
    assert PRIORITIES == ("high", "normal", "low")
    assert [status for status in Status if status.is_final] == [Status.SUCCEEDED, Status.FAILED, Status.CANCELLED]


@pytest.mark.req("P2")
def test_the_page_of_the_state_machine_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run: manage.py state_machine > docs/state-machine.md"
