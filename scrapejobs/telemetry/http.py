"""Request metrics of the gateway, from django-prometheus."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django_prometheus.middleware import PrometheusAfterMiddleware


class RequestMetrics(PrometheusAfterMiddleware):  # type: ignore[misc]
    """django-prometheus, with every label bounded: its latency histogram takes any method that a client makes up."""

    def label_metric(
        self, metric: Any, request: HttpRequest, response: HttpResponseBase | None = None, **labels: str
    ) -> Any:
        """The metric's child with these labels."""
        if "method" in labels:
            labels["method"] = self._method(request)
        return super().label_metric(metric, request, response, **labels)
