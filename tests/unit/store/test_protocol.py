"""One job through every order of events: all promises hold, and each safeguard that is left out is missed."""

from functools import cache
from pathlib import Path

import pytest

import scrapejobs.store
from tests.unit.store.exploration import Explored, explore, places, stuck
from tests.unit.store.protocol import Safeguard

SQL = Path(scrapejobs.store.__file__).parent / "sql"

BREAKS = {
    Safeguard.ONE_PUBLISH: "NFR-3",
    Safeguard.FENCE: "P4",
    Safeguard.REPORT_LOCKS_JOB: "P2: cancelled became",
    Safeguard.REPORT_KEEPS_FINAL: "P2: cancelled became",
    Safeguard.EXPIRED_ONLY: "P4",
    Safeguard.CLAIM_LOCKS_READY: "NFR-3",
    Safeguard.PUT_BEFORE_REPORT: "P3",
    Safeguard.CANCEL_LOCKS_JOB: "P7: a cancel was answered",
    Safeguard.CANCEL_LEAVES_FINAL: "P2: succeeded became",
    Safeguard.LOOKS_IN_ORDER: "P7: a cancelled job was started",
    Safeguard.TAKE_BACK_LOCKS_JOB: "P7: a cancelled job was started",
    Safeguard.ONE_FINISH: "P6",
    Safeguard.LEASED_IS_NO_ORPHAN: "P3",
    Safeguard.RESULT_IS_NO_ORPHAN: "P3",
}
"""What goes wrong first without it. CLAIM_LEAVES_FINAL is the second line behind TAKE_BACK_LOCKS_JOB: see below."""


@cache
def explored() -> Explored:
    return explore()


def told(result: Explored) -> str:
    return "\n".join([result.violation, *result.trace])


@pytest.mark.req("P2")
@pytest.mark.req("P3")
@pytest.mark.req("P4")
@pytest.mark.req("P6")
@pytest.mark.req("P7")
@pytest.mark.req("NFR-3")
@pytest.mark.case("S9")
def test_whatever_the_order_of_events_no_promise_is_broken() -> None:
    assert not explored().violation, told(explored())


@pytest.mark.req("P1")
@pytest.mark.req("P2")
@pytest.mark.req("NFR-7")
def test_from_wherever_a_job_is_it_can_come_to_its_end_with_no_persons_help() -> None:
    assert stuck(explored()) == []


def test_the_model_comes_to_every_place_and_every_final_state_so_it_is_not_true_of_nothing() -> None:
    states = explored().came_from
    assert {place for s in states for place in places(s)} == {"unpublished", "queued", "delayed", "ready", "lease"}
    assert {s.final for s in states} == {None, "succeeded", "failed", "cancelled"}
    assert any(s.final == "cancelled" and s.lease and s.workers[0].step == "stored" for s in states)


@pytest.mark.req("P2")
@pytest.mark.req("P4")
@pytest.mark.parametrize("safeguard", BREAKS, ids=lambda safeguard: safeguard.name)
def test_without_this_safeguard_an_order_of_events_breaks_its_promise(safeguard: Safeguard) -> None:
    result = explore(without=frozenset({safeguard}), broken=BREAKS[safeguard])
    assert result.trace, f"nothing goes wrong without {safeguard.name}: the model does not hold it"


@pytest.mark.req("P7")
def test_the_claims_look_at_the_job_is_a_second_line_behind_the_lock_of_a_way_back() -> None:
    second = frozenset({Safeguard.CLAIM_LEAVES_FINAL})
    assert not explore(without=second).violation
    both = second | {Safeguard.TAKE_BACK_LOCKS_JOB}
    assert explore(without=both, broken="P7: a claim started a job that it saw to be final").trace


def test_every_safeguard_is_left_out_once() -> None:
    assert set(Safeguard) == {*BREAKS, Safeguard.CLAIM_LEAVES_FINAL}


@pytest.mark.parametrize("safeguard", Safeguard, ids=lambda safeguard: safeguard.name)
def test_what_the_model_takes_for_granted_stands_in_the_product(safeguard: Safeguard) -> None:
    file, words = safeguard.value
    assert words in (SQL / file).read_text(), f"{safeguard.name} is not in {file} any more: see tests/unit/store"
