import inspect
from datetime import date
from uuid import UUID

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from scrapejobs.domain.outcome import CODES
from scrapejobs.telemetry import events, metrics

JOB = UUID("01900000-0000-7000-8000-000000000001")
EVENT = UUID("01900000-0000-7000-8000-000000000002")

# name: how it is called, the level of its line or None, the line's fields
TOLD = {
    "job_submitted": (
        lambda: events.job_submitted(JOB, 7, host="shop.example", priority=0),
        "debug",
        {"job_id": JOB, "tenant_id": 7, "host": "shop.example", "queue": "high"},
    ),
    "jobs_published": (lambda: events.jobs_published(3), "debug", {"n": 3}),
    "dispatched": (lambda: events.dispatched(3), "debug", {"n": 3}),
    "dispatcher_elected": (
        lambda: events.dispatcher_elected(4, rebuild_s=0.5, queued=9),
        "info",
        {"epoch": 4, "rebuild_s": 0.5, "queued": 9},
    ),
    "dispatcher_lost": (lambda: events.dispatcher_lost(4), "warning", {"epoch": 4}),
    "permits_given": (lambda: events.permits_given(3), "debug", {"n": 3}),
    "ready_taken_back": (lambda: events.ready_taken_back(2), "info", {"n": 2}),
    "attempt_started": (
        lambda: events.attempt_started(JOB, 11, number=1, host="shop.example"),
        "debug",
        {"job_id": JOB, "seq": 11, "number": 1, "host": "shop.example"},
    ),
    "attempt_ended": (
        lambda: events.attempt_ended(JOB, 11, outcome="temporary", code="timeout", elapsed_s=1.5, bytes=10),
        "debug",
        {"job_id": JOB, "seq": 11, "outcome": "temporary", "code": "timeout", "elapsed_s": 1.5, "bytes": 10},
    ),
    "secrets_unreadable": (
        lambda: events.secrets_unreadable(JOB, code="secrets_locked"),
        "error",
        {"job_id": JOB, "code": "secrets_locked"},
    ),
    "report_fenced": (lambda: events.report_fenced(JOB, 11), "warning", {"job_id": JOB, "seq": 11}),
    "job_settled": (
        lambda: events.job_settled(JOB, "failed", "timeout"),
        "info",
        {"job_id": JOB, "state": "failed", "code": "timeout"},
    ),
    "first_attempt": (lambda: events.first_attempt(0.3), None, {}),
    "leases_swept": (lambda: events.leases_swept(2), "warning", {"n": 2}),
    "retries_promoted": (lambda: events.retries_promoted(2), "debug", {"n": 2}),
    "jobs_expired": (lambda: events.jobs_expired(2), "info", {"n": 2}),
    "finish_published": (lambda: events.finish_published(2), "debug", {"n": 2}),
    "delivery_tried": (
        lambda: events.delivery_tried(JOB, EVENT, outcome="given_up", status=500),
        "warning",
        {"job_id": JOB, "event_id": EVENT, "outcome": "given_up", "status": 500, "error": None},
    ),
    "job_read": (lambda: events.job_read("cache", age_s=0.5), None, {}),
    "stale_answers": (lambda: events.stale_answers(1), None, {}),
    "endpoint_switched_off": (
        lambda: events.endpoint_switched_off(7, origin="https://me.example", reason="gone"),
        "warning",
        {"tenant_id": 7, "origin": "https://me.example", "reason": "gone"},
    ),
    "endpoint_switched_on": (
        lambda: events.endpoint_switched_on(7, origin="https://me.example"),
        "info",
        {"tenant_id": 7, "origin": "https://me.example"},
    ),
    "lease_lost": (lambda: events.lease_lost(11), "warning", {"seq": 11}),
    "worker_draining": (lambda: events.worker_draining(2), "info", {"running": 2}),
    "cancel_obeyed": (lambda: events.cancel_obeyed(JOB), "debug", {"job_id": JOB}),
    "tick": (lambda: events.tick("sweeper", 0.1), None, {}),
    "partition_created": (lambda: events.partition_created(3), "info", {"n": 3}),
    "partition_dropped": (
        lambda: events.partition_dropped(date(2026, 1, 2)),
        "info",
        {"day": date(2026, 1, 2)},
    ),
    "store_unavailable": (
        lambda: events.store_unavailable("2026-01-02/7/a/1", "refused"),
        "warning",
        {"key": "2026-01-02/7/a/1", "reason": "refused"},
    ),
    "result_missing": (lambda: events.result_missing(JOB), "error", {"job_id": JOB}),
    "circuit_changed": (
        lambda: events.circuit_changed("shop.example", "opened", code="http_503"),
        "warning",
        {"host": "shop.example", "change": "opened", "code": "http_503"},
    ),
    "orphans_removed": (lambda: events.orphans_removed(3, bytes=12), "info", {"n": 3, "bytes": 12}),
    "objects_unknown": (lambda: events.objects_unknown(3), "warning", {"n": 3}),
    "bus_down": (events.bus_down, "warning", {}),
    "bus_up": (events.bus_up, "info", {}),
}


def sample(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.req("FR-13")
def test_an_event_is_told_under_its_own_name_with_its_fields(name: str):
    call, level, fields = TOLD[name]
    with capture_logs() as told:
        call()
    assert told == ([{"event": name, "log_level": level, **fields}] if level else [])


@pytest.mark.req("FR-13")
def test_a_failed_loop_is_told_with_its_error_and_counted():
    error = ValueError("x")
    before = sample("scrapejobs_loop_errors_total", loop="courier")
    with capture_logs() as told:
        events.loop_failed("courier", error)
    assert told == [{"event": "loop_failed", "log_level": "error", "loop": "courier", "error": error}]
    assert sample("scrapejobs_loop_errors_total", loop="courier") == before + 1


def test_every_event_has_a_promise_in_words_and_a_test():
    functions = {
        name: function
        for name, function in inspect.getmembers(events, inspect.isfunction)
        if function.__module__ == events.__name__
    }
    assert set(functions) == {*TOLD, "loop_failed"}
    assert all(function.__doc__ for function in functions.values())


@pytest.mark.parametrize(
    ("event", "name", "labels"),
    [
        ("job_submitted", "scrapejobs_jobs_submitted_total", {"queue": "high"}),
        ("attempt_ended", "scrapejobs_attempts_total", {"class": "temporary", "code": "timeout"}),
        ("job_settled", "scrapejobs_jobs_settled_total", {"state": "failed"}),
        ("delivery_tried", "scrapejobs_deliveries_total", {"outcome": "given_up"}),
        ("job_read", "scrapejobs_job_reads_total", {"source": "cache"}),
        ("stale_answers", "scrapejobs_stale_answers_total", {}),
        ("endpoint_switched_off", "scrapejobs_endpoint_changes_total", {"change": "off"}),
        ("endpoint_switched_on", "scrapejobs_endpoint_changes_total", {"change": "on"}),
        ("store_unavailable", "scrapejobs_store_failures_total", {}),
        ("result_missing", "scrapejobs_result_missing_total", {}),
        ("tick", "scrapejobs_tick_seconds_count", {"loop": "sweeper"}),
        ("first_attempt", "scrapejobs_first_attempt_seconds_count", {}),
    ],
)
@pytest.mark.req("FR-13")
def test_an_event_is_counted_once_under_its_labels(event: str, name: str, labels: dict[str, str]):
    before = sample(name, **labels)
    TOLD[event][0]()
    assert sample(name, **labels) == before + 1


@pytest.mark.req("NFR-9")
def test_each_removed_orphan_is_counted():
    before = sample("scrapejobs_orphans_removed_total")
    TOLD["orphans_removed"][0]()
    assert sample("scrapejobs_orphans_removed_total") == before + 3


@pytest.mark.req("NFR-8")
def test_the_goal_of_sixty_seconds_is_a_bucket_of_the_time_to_first_attempt():
    at_sixty = sample("scrapejobs_first_attempt_seconds_bucket", le="60.0")
    beyond = sample("scrapejobs_first_attempt_seconds_bucket", le="120.0")
    events.first_attempt(60.0)
    events.first_attempt(60.1)
    assert sample("scrapejobs_first_attempt_seconds_bucket", le="60.0") == at_sixty + 1
    assert sample("scrapejobs_first_attempt_seconds_bucket", le="120.0") == beyond + 2


@pytest.mark.parametrize(
    ("code", "label"),
    [
        (None, ""),
        ("", ""),
        ("timeout", "timeout"),
        ("http_404", "http_404"),
        ("http_777", "http_other"),
        ("x", "other"),
    ],
)
def test_a_code_is_labelled_by_the_table(code: str | None, label: str):
    assert metrics.code_label(code) == label


def test_no_target_can_make_labels_without_end():
    statuses = [f"http_{status}" for status in range(1000)]
    labels = {metrics.code_label(code) for code in [*CODES, *statuses, *map(str, range(1000))]}
    # RFC 9110 and the registry name about 60 statuses
    assert len(labels) <= len(CODES) + 70
