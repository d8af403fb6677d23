import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from prometheus_client import REGISTRY

from scrapejobs.telemetry.http import RequestMetrics


@pytest.mark.req("FR-13")
def test_a_method_that_a_client_made_up_is_no_label_of_its_own():
    answer = RequestMetrics(lambda _request: HttpResponse(status=405))
    answer(RequestFactory().generic("MADEUP", "/v1/jobs"))
    methods = {
        s.labels["method"]
        for family in REGISTRY.collect()
        if family.name.startswith("django_http")
        for s in family.samples
        if "method" in s.labels
    }
    assert "<invalid method>" in methods
    assert "MADEUP" not in methods
