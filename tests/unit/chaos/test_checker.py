"""The judge of the chaos suite finds every kind of violation; each test breaks one thing in a history that is clean."""

import hashlib
from dataclasses import replace

import pytest

from tests.chaos.checker import Verdict, check
from tests.chaos.history import Asked, Attempt, Call, Deed, Event, History, Hit, Job, Object
from tests.chaos.pages import PAGE_BYTES, body_of

SHA256 = hashlib.sha256(body_of("/page/r1-1")).hexdigest()
PAGE = Job(
    "j1",
    "r1-1",
    "/page/r1-1",
    11.0,
    has_callback=True,
    finished_at=15.0,
    result_key="d/1/j1/7",
    result_size=PAGE_BYTES,
    result_sha256=SHA256,
)
GONE = Job("j2", "r1-2", "/gone/r1-2", 20.0, final="failed", code="http_404", finished_at=25.0)
CLEAN = History(
    asked=(
        Asked("submit", "unknown", 10.0, None, "r1-1", "/page/r1-1"),
        Asked("submit", "ok", 11.0, "j1", "r1-1", "/page/r1-1"),
        Asked("submit", "ok", 20.0, "j2", "r1-2", "/gone/r1-2"),
    ),
    jobs=(PAGE, GONE),
    attempts=(
        Attempt("j1", 1, "worker-0", 12.0, 14.0),
        Attempt("j2", 1, "worker-1", 22.0, 24.0, "permanent"),
    ),
    events=(Event("e1", "j1"), Event("e2", "j2")),
    objects=(Object("d/1/j1/7", PAGE_BYTES, SHA256),),
    hits=(Hit("127.0.0.1", "/page/r1-1", 12.5, 13.0), Hit("127.0.0.1", "/gone/r1-2", 22.5, 23.0)),
    calls=(Call("e1", "j1", status=500), Call("e1", "j1")),
)
LOST_THEN_STORED = (
    Attempt("j1", 1, "worker-0", 12.0, 16.0, "lost", is_charged=False),
    Attempt("j1", 2, "worker-1", 17.5, 18.0),
)


def verdict_on(history: History = CLEAN, **changes: object) -> Verdict:
    return check(replace(history, **changes))


def with_job(job: Job, **changes: object) -> tuple[Job, ...]:
    return tuple(replace(one, **changes) if one is job else one for one in CLEAN.jobs)


def attempts_of_page(*attempts: Attempt) -> tuple[Attempt, ...]:
    return (*attempts, CLEAN.attempts[1])


def asked(*more: Asked) -> tuple[Asked, ...]:
    return (*CLEAN.asked, *more)


def test_a_clean_history_has_nothing_against_it():
    assert check(CLEAN) == Verdict(2, (), (), (), (), (), 22.0 - 20.0)
    assert check(CLEAN).is_clean


# ---- lost


def test_an_accepted_job_that_is_not_there_is_lost():
    (what,) = verdict_on(asked=asked(Asked("submit", "ok", 30.0, "j3", "r1-3", "/page/r1-3"))).lost
    assert "j3" in what


def test_a_submission_that_was_refused_or_never_answered_need_not_be_there():
    more = asked(Asked("submit", "fail", 30.0, None, "r1-3"), Asked("submit", "unknown", 31.0, None, "r1-4"))
    assert verdict_on(asked=more).is_clean


def test_a_job_without_a_final_state_is_lost():
    assert len(verdict_on(jobs=with_job(GONE, final=None, code=None)).lost) == 1


def test_a_final_job_without_a_finish_event_is_lost():
    assert len(verdict_on(events=CLEAN.events[:1]).lost) == 1
    assert len(verdict_on(jobs=with_job(GONE, is_told=False)).lost) == 1


@pytest.mark.parametrize("calls", [(), (Call("e1", "j1", status=500),), (Call("e1", "j1", status=None),)])
def test_an_event_that_its_receiver_never_took_is_lost(calls: tuple[Call, ...]):
    assert len(verdict_on(calls=calls).lost) == 1
    assert verdict_on(calls=calls, given_up=frozenset({"e1"})).is_clean


# ---- doubled


def test_two_rows_for_one_key_are_doubled():
    twin = replace(GONE, id="j3")
    verdict = verdict_on(jobs=(*CLEAN.jobs, twin), events=(*CLEAN.events, Event("e3", "j3")))
    assert any("r1-2" in what for what in verdict.doubled)


def test_two_ids_told_for_one_key_are_doubled():
    assert verdict_on(asked=asked(Asked("submit", "ok", 30.0, "j9", "r1-1", "/page/r1-1"))).doubled


def test_two_finish_events_for_one_end_are_doubled():
    assert len(verdict_on(events=(*CLEAN.events, Event("e3", "j2"))).doubled) == 1


@pytest.mark.parametrize("result", ["ok", "unknown"])
def test_a_requeued_job_may_have_one_finish_event_more(result: str):
    twice = (*CLEAN.events, Event("e3", "j2"))
    assert verdict_on(asked=asked(Asked("requeue", result, 30.0, "j2")), events=twice).is_clean
    assert verdict_on(asked=asked(Asked("requeue", "fail", 30.0, "j2")), events=twice).doubled


def test_a_call_with_an_id_that_no_event_has_is_doubled():
    assert len(verdict_on(calls=(*CLEAN.calls, Call("e9", "j1"))).doubled) == 1


def test_two_applied_results_are_doubled():
    twice = attempts_of_page(Attempt("j1", 1, "worker-0", 12.0, 14.0), Attempt("j1", 2, "worker-1", 13.0, 15.0))
    (what,) = verdict_on(attempts=twice, jobs=with_job(PAGE, n_charged=2)).doubled
    assert "2 applied results" in what


def test_an_attempt_that_starts_after_the_cancel_is_doubled():
    cancelled = replace(GONE, final="cancelled", code=None, finished_at=21.0)
    changes = {"jobs": (PAGE, cancelled), "asked": asked(Asked("cancel", "ok", 21.5, "j2"))}
    late = replace(CLEAN.attempts[1], outcome="cancelled")
    early = replace(late, started_at=20.5)
    assert len(verdict_on(attempts=(CLEAN.attempts[0], late), **changes).doubled) == 1
    assert verdict_on(attempts=(CLEAN.attempts[0], early), **changes).is_clean


# ---- wrong states


@pytest.mark.parametrize(
    ("job", "changes"),
    [
        (GONE, {"final": "succeeded", "code": None}),
        (GONE, {"code": "http_503"}),
        (GONE, {"final": "cancelled", "code": None}),
        (PAGE, {"final": "failed", "code": "http_404"}),
    ],
)
def test_a_final_state_that_the_target_does_not_give_is_wrong(job: Job, changes: dict[str, object]):
    assert verdict_on(jobs=with_job(job, **changes)).wrong_states


def test_a_job_whose_cancel_was_answered_must_be_cancelled():
    assert verdict_on(asked=asked(Asked("cancel", "ok", 21.0, "j2"))).wrong_states
    assert verdict_on(asked=asked(Asked("cancel", "unknown", 21.0, "j2"))).is_clean
    assert verdict_on(asked=asked(Asked("cancel", "fail", 21.0, "j2"))).is_clean


@pytest.mark.parametrize(("n_lost", "is_clean"), [(3, True), (2, False)])
def test_poison_takes_three_lost_workers(n_lost: int, is_clean: bool):
    poisoned = replace(GONE, code="poison", n_charged=0)
    lost = [Attempt("j2", n + 1, "w", 22.0 + n, 22.5 + n, "lost", is_charged=False) for n in range(n_lost)]
    assert verdict_on(jobs=(PAGE, poisoned), attempts=(CLEAN.attempts[0], *lost)).is_clean is is_clean


@pytest.mark.parametrize(
    "objects",
    [
        (),
        (Object("d/1/j1/7", PAGE_BYTES - 1, SHA256),),
        (Object("d/1/j1/7", PAGE_BYTES, hashlib.sha256(b"other").hexdigest()),),
    ],
)
def test_succeeded_without_its_object_as_recorded_is_wrong(objects: tuple[Object, ...]):
    assert len(verdict_on(objects=objects).wrong_states) == 1


def test_the_result_of_another_page_is_wrong():
    other = hashlib.sha256(body_of("/page/r1-8")).hexdigest()
    jobs = with_job(PAGE, result_sha256=other)
    assert len(verdict_on(jobs=jobs, objects=(Object("d/1/j1/7", PAGE_BYTES, other),)).wrong_states) == 1


def test_more_requests_than_recorded_attempts_are_wrong():
    assert len(verdict_on(hits=(*CLEAN.hits, Hit("127.0.0.1", "/gone/r1-2", 24.0, 24.5))).wrong_states) == 1


def test_fewer_requests_than_attempts_are_wrong_only_where_nothing_was_done():
    assert verdict_on(hits=CLEAN.hits[:1]).is_clean
    assert len(verdict_on(hits=CLEAN.hits[:1], is_quiet=True).wrong_states) == 1


def test_a_success_that_no_attempt_stored_and_a_stored_attempt_without_success_are_wrong():
    refused = (replace(CLEAN.attempts[0], outcome="permanent"), CLEAN.attempts[1])
    assert len(verdict_on(attempts=refused).wrong_states) == 1
    stored = (CLEAN.attempts[0], replace(CLEAN.attempts[1], outcome="stored"))
    assert len(verdict_on(attempts=stored).wrong_states) == 1


def test_a_gap_in_the_numbers_of_attempts_is_wrong():
    assert len(verdict_on(attempts=attempts_of_page(replace(CLEAN.attempts[0], number=2))).wrong_states) == 1


@pytest.mark.parametrize("outcome", ["lost", "released"])
def test_a_charge_for_an_attempt_that_was_not_the_jobs_fault_is_wrong(outcome: str):
    first, second = LOST_THEN_STORED
    charged = attempts_of_page(replace(first, outcome=outcome, is_charged=True), second)
    assert len(verdict_on(attempts=charged, jobs=with_job(PAGE, n_charged=2)).wrong_states) == 1


def test_a_charge_for_what_the_target_did_not_answer_is_wrong():
    first, second = LOST_THEN_STORED
    charged = attempts_of_page(replace(first, outcome="temporary", is_charged=True), second)
    assert len(verdict_on(attempts=charged, jobs=with_job(PAGE, n_charged=2)).wrong_states) == 1


def test_a_row_that_counts_other_attempts_than_are_recorded_is_wrong():
    assert len(verdict_on(jobs=with_job(PAGE, n_charged=2)).wrong_states) == 1


def test_a_lost_attempt_is_wrong_where_each_worker_had_time_to_hand_back():
    lost = attempts_of_page(*LOST_THEN_STORED)
    assert verdict_on(attempts=lost).is_clean
    assert len(verdict_on(attempts=lost, loses_no_attempt=True).wrong_states) == 1


def test_a_call_with_a_wrong_signature_is_wrong():
    assert len(verdict_on(calls=(*CLEAN.calls, Call("e1", "j1", is_valid=False))).wrong_states) == 1


def test_a_call_that_nobody_asked_for_is_wrong():
    assert len(verdict_on(calls=(*CLEAN.calls, Call("e2", "j2"))).wrong_states) == 1


def test_more_open_exchanges_than_a_host_has_slots_are_wrong():
    def at(*spans: tuple[float, float | None]) -> History:
        hits = [Hit("127.0.0.5", f"/page/r0-{n}", start, end) for n, (start, end) in enumerate(spans)]
        return replace(CLEAN, hits=(*CLEAN.hits, *hits), host_slots=2)

    assert check(at((1.0, 2.0), (1.5, 3.0), (2.0, 4.0))).is_clean
    assert len(check(at((1.0, 2.0), (1.5, 3.0), (1.9, 4.0))).wrong_states) == 1
    assert len(check(at((1.0, None), (1.5, None), (9.0, 9.5))).wrong_states) == 1


def test_more_requests_in_a_stretch_of_time_than_a_host_bears_are_wrong():
    def at(*moments: float) -> History:
        hits = [Hit("127.0.0.5", f"/page/r0-{n}", moment, moment) for n, moment in enumerate(moments)]
        return replace(CLEAN, hits=(*CLEAN.hits, *hits), host_rate=2.0, host_burst=3.0)

    assert check(at(1.0, 1.0, 1.0, 1.5, 2.0, 9.0, 9.0, 9.0)).is_clean
    assert len(check(at(1.0, 1.0, 1.0, 1.0)).wrong_states) == 1  # four at once
    assert check(at(1.0, 1.1, 1.1, 1.5, 2.0)).is_clean  # 5 in 1 s: 3 + 2
    (what,) = check(at(1.0, 1.1, 1.1, 1.5, 1.9)).wrong_states  # 5 in 0.9 s: 3 + 1.8
    assert "0.200 requests more" in what


def test_a_pause_longer_than_is_allowed_is_wrong():
    killed = {"under_load": (12.0, 23.0), "deeds": (Deed("kill", 12.0, "scheduler-0"),)}
    assert verdict_on(**killed).longest_pause_s == 22.5 - 12.5
    assert verdict_on(**killed, pauses_at_most_s=10.0).is_clean
    assert len(verdict_on(**killed, pauses_at_most_s=9.9).wrong_states) == 1


def test_a_pause_that_no_deed_can_have_caused_is_none_of_the_services():
    killed = (Deed("kill", 22.6, "scheduler-0"),)
    assert verdict_on(under_load=(12.0, 23.0), deeds=killed).longest_pause_s == 23.0 - 22.5


def test_a_place_that_still_holds_a_job_and_a_crash_are_wrong():
    assert verdict_on(left=("job j1 is still in lease",)).wrong_states == ("job j1 is still in lease",)
    assert verdict_on(crashes=("worker-0 ended with 1",)).wrong_states == ("worker-0 ended with 1",)


# ---- orphans and recovery


def test_an_object_that_no_job_names_is_an_orphan():
    assert verdict_on(objects=(*CLEAN.objects, Object("d/1/j1/6", 1, "00"))).orphans == ("d/1/j1/6",)


def test_recovery_counts_from_the_deed_to_the_start_of_the_jobs_next_attempt():
    kills = (Deed("kill", 9.0, "worker-0"), Deed("kill", 13.0, "worker-1"), Deed("kill", 13.5, "worker-0"))
    verdict = verdict_on(attempts=attempts_of_page(*LOST_THEN_STORED), deeds=kills)
    assert verdict.recoveries_s == (17.5 - 13.5,)


def test_a_recovery_that_takes_longer_than_promised_is_wrong():
    late = {"attempts": attempts_of_page(*LOST_THEN_STORED), "deeds": (Deed("kill", 13.5, "worker-0"),)}
    assert verdict_on(**late, recovers_within_s=4.0).is_clean
    assert len(verdict_on(**late, recovers_within_s=3.9).wrong_states) == 1


def test_recovery_of_what_no_worker_suffered_counts_from_the_heal():
    heals = (Deed("heal", 11.0), Deed("heal", 17.25))
    assert verdict_on(attempts=attempts_of_page(*LOST_THEN_STORED), deeds=heals).recoveries_s == (0.25,)


@pytest.mark.parametrize(
    ("deeds", "from_at"),
    [
        ((), 20.0),
        ((Deed("kill", 19.0, "scheduler-0"),), 20.0),
        ((Deed("kill", 20.5, "scheduler-0"), Deed("kill", 21.0, "scheduler-1")), 20.5),
        ((Deed("kill", 20.5, "scheduler-0"), Deed("heal", 20.75), Deed("heal", 21.0)), 21.0),
        ((Deed("heal", 30.0),), 20.0),
    ],
)
def test_the_wait_for_a_first_start_counts_from_the_heal_the_deed_or_the_arrival(
    deeds: tuple[Deed, ...], from_at: float
):
    first = (replace(CLEAN.attempts[0], started_at=11.0), CLEAN.attempts[1])
    assert verdict_on(attempts=first, deeds=deeds).slowest_recovery_s == 22.0 - from_at


def test_a_round_without_an_accepted_job_shows_nothing():
    assert len(check(History(asked=(Asked("submit", "unknown", 10.0, None, "r1-1"),))).wrong_states) == 1
