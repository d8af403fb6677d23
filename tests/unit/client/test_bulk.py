"""Runs of many jobs, without a service: what is sent, in which batches, and what is gone on with."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from scrapejobs_client import Problem, Receipt, ResumeError
from scrapejobs_client.bulk import BATCH_BYTES, BATCH_ITEMS, submit_all

REFUSED = Problem("invalid-url", 400)


class CutError(Exception):
    """The program ends here."""


class Sink:
    """Takes batches as a service would: one job for each key. Refuses what is named `bad`; `dies_at` a batch."""

    def __init__(self, *, dies_at: int | None = None) -> None:
        self.batches: list[int] = []
        self.urls_by_key: dict[str, str] = {}
        self.dies_at = dies_at

    def __call__(self, jobs: Sequence[Mapping[str, Any]]) -> list[Receipt | Problem]:
        self.batches.append(len(jobs))
        for job in jobs:
            assert self.urls_by_key.setdefault(job["idempotency_key"], job["url"]) == job["url"]
        if len(self.batches) == self.dies_at:
            raise CutError  # the service has it, and the answer is lost
        return [REFUSED if job["url"] == "bad" else Receipt(job["idempotency_key"], "queued", {}) for job in jobs]


def urls(n: int) -> Iterator[str]:
    return (f"u{i}" for i in range(n))


@pytest.mark.req("FR-3")
def test_each_item_is_told_in_order_and_a_refused_one_holds_up_no_other():
    told = list(submit_all(["a", "bad", {"url": "c", "priority": "low"}], Sink(), run="r", state=None))
    assert [(one.index, one.receipt and one.receipt.id, one.problem) for one in told] == [
        (0, "r-0", None),
        (1, None, REFUSED),
        (2, "r-2", None),
    ]


@pytest.mark.req("FR-3")
def test_an_endless_input_is_taken_a_batch_at_a_time():
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "u"

    told = submit_all(endless(), Sink(), run=None, state=None)
    next(told)
    assert taken <= BATCH_ITEMS + 1


@pytest.mark.req("FR-3")
def test_batches_hold_no_more_than_their_bytes():
    sink = Sink()
    long = {"url": "u", "params": {"body": "x" * (BATCH_BYTES // 3)}}
    assert len(list(submit_all([long] * 5, sink, run="r", state=None))) == 5
    assert sink.batches == [2, 2, 1]


@pytest.mark.req("FR-2")
@pytest.mark.req("FR-3")
def test_a_run_that_lost_an_answer_tells_that_batch_again_and_hands_nothing_in_twice(tmp_path: Path):
    state, n = tmp_path / "state", 3 * BATCH_ITEMS + 7
    sink = Sink(dies_at=3)
    told: list[int] = []

    def hand_in() -> None:
        told.extend(one.index for one in submit_all(urls(n), sink, run=None, state=state))

    with pytest.raises(CutError):
        hand_in()
    assert told == list(range(2 * BATCH_ITEMS))
    hand_in()
    assert told == list(range(n))
    assert sink.batches == [BATCH_ITEMS] * 4 + [7]  # the third went twice
    assert sorted(sink.urls_by_key.values()) == sorted(urls(n))


@pytest.mark.req("FR-3")
def test_what_was_given_to_a_program_that_died_on_it_is_given_again(tmp_path: Path):
    state, sink = tmp_path / "state", Sink()
    first = submit_all(urls(3), sink, run=None, state=state)
    assert next(first).index == 0
    first.close()  # the program died before it took the second
    assert [one.index for one in submit_all(urls(3), sink, run=None, state=state)] == [0, 1, 2]
    assert len(sink.urls_by_key) == 3


@pytest.mark.req("FR-3")
def test_a_run_that_is_over_hands_nothing_in_and_takes_what_was_added_since(tmp_path: Path):
    state, sink = tmp_path / "state", Sink()
    assert len(list(submit_all(urls(3), sink, run="r", state=state))) == 3
    assert list(submit_all(urls(3), sink, run="r", state=state)) == []
    assert [one.index for one in submit_all(urls(5), sink, run="r", state=state)] == [3, 4]


@pytest.mark.req("FR-3")
@pytest.mark.parametrize("other", [["u0", "x1", "u2"], ["u0", "u1"]], ids=["changed", "shorter"])
def test_other_jobs_than_a_run_began_with_are_refused_before_anything_is_sent(tmp_path: Path, other: list[str]):
    state, sink = tmp_path / "state", Sink()
    list(submit_all(urls(3), sink, run=None, state=state))
    with pytest.raises(ResumeError, match="first 3 jobs"):
        list(submit_all(other, sink, run=None, state=state))
    assert sink.batches == [3]


@pytest.mark.parametrize("text", ["", "[]", '{"run": "r"', '{"n": 1}'])
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, text: str):
    state = tmp_path / "state"
    state.write_text(text)
    with pytest.raises(ResumeError, match="not a state file"):
        list(submit_all(urls(1), Sink(), run=None, state=state))


def test_the_state_of_a_run_of_another_name_is_refused(tmp_path: Path):
    state = tmp_path / "state"
    list(submit_all(urls(1), Sink(), run="a", state=state))
    with pytest.raises(ResumeError, match="'a'"):
        list(submit_all(urls(1), Sink(), run="b", state=state))
    assert json.loads(state.read_text())["run"] == "a"


@pytest.mark.req("FR-2")
def test_a_key_of_ones_own_is_kept():
    sink = Sink()
    list(submit_all([{"url": "u", "idempotency_key": "mine"}], sink, run="r", state=None))
    assert sink.urls_by_key == {"mine": "u"}
