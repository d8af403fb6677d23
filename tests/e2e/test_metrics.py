"""What the processes export, all together, as an operator's Prometheus sees it."""

import re
from pathlib import Path

import pytest
import requests

from tests.e2e.service import ROOT, Role, Service
from tests.e2e.target import Target
from tests.e2e.waiting import wait_until

DOC = Path(ROOT, "docs", "reference", "metrics.md")
NEEDS_TROUBLE = {
    "scrapejobs_loop_errors_total",  # labelled by what went wrong
    "scrapejobs_circuit_changes_total",
    "scrapejobs_endpoint_changes_total",
    "scrapejobs_secrets_unreadable_total",
    "scrapejobs_tenant_queued",  # labelled by who waits
    "scrapejobs_host_queued",
}


def exported(role: Role) -> dict[str, float]:
    """The role's samples, by name with labels."""
    text = requests.get(f"http://127.0.0.1:{role.metrics_port}/metrics", timeout=10).text
    pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


@pytest.mark.req("FR-13")
def test_the_roles_export_every_metric_that_the_docs_name(service: Service, target: Target) -> None:
    roles = service.start_all()
    gateway = roles[0]
    service.wait_for(
        service.submit(target.url("/page/1"), priority="high", callback_url=target.url("/status/200/hook")), "succeeded"
    )
    assert exported(gateway)['scrapejobs_jobs_submitted_total{queue="high"}'] == 1
    assert any(
        name.startswith("django_http_requests_latency_seconds_by_view_method_bucket") for name in exported(gateway)
    )

    documented = set(re.findall(r"^\| `(scrapejobs_\w+)`", DOC.read_text(), re.MULTILINE)) - NEEDS_TROUBLE

    def missing() -> set[str]:
        names = {re.sub(r"(_bucket|_count|_sum)?(\{.*)?$", "", name) for role in roles for name in exported(role)}
        return documented - names

    wait_until(lambda: not missing(), what="every metric of the docs", at_most_s=20)


@pytest.mark.req("FR-13")
@pytest.mark.case("S11")
def test_passes_of_a_sweeper_are_counted_while_it_works_and_not_while_it_cannot(service: Service) -> None:
    scheduler = service.start("scheduler", SCRAPEJOBS_SWEEP_S="0.1")
    service.wait_ready(scheduler)

    def passes() -> float:
        return exported(scheduler)['scrapejobs_tick_seconds_count{loop="sweeper"}']

    def errors() -> float:
        return exported(scheduler).get('scrapejobs_loop_errors_total{loop="sweeper"}', 0.0)

    before = passes()
    wait_until(lambda: passes() > before, what="one more pass")
    service.servers["postgres"].kill()
    try:
        wait_until(lambda: errors() >= 1, what="a pass that failed")
        stopped_at = passes()
        wait_until(lambda: errors() >= 3, what="more passes that failed")
        assert passes() == stopped_at
    finally:
        service.servers["postgres"].start()
    wait_until(lambda: passes() > stopped_at, what="a pass again")
