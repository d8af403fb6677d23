"""The product's gateway with two more paths beside it, to compare with: a view that does nothing, and the usual way."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

FACTORY = "benchmarks.api.site:application"


def application() -> Any:
    """What granian's child serves: the product as it is, at the same middleware, with these paths added."""
    from scrapejobs.ops import gateway

    settings.ROOT_URLCONF = "benchmarks.api.site"
    return gateway.application()


def noop(_request: HttpRequest) -> HttpResponse:
    """The limit: nothing."""
    return HttpResponse(b"{}", content_type="application/json")


def _urlpatterns() -> list[Any]:
    from django.db import transaction
    from django.urls import path
    from django.utils import timezone
    from rest_framework import serializers
    from rest_framework.parsers import JSONParser
    from rest_framework.renderers import JSONRenderer
    from rest_framework.response import Response
    from rest_framework.views import APIView

    from scrapejobs.gateway.auth import AUTHENTICATION
    from scrapejobs.store.ids import new_id
    from scrapejobs.store.models import Job
    from scrapejobs.urls import urlpatterns as ours

    class JobSerializer(serializers.ModelSerializer):  # type: ignore[type-arg]
        class Meta:
            model = Job
            fields = ["id", "url", "params", "tags", "priority", "attempts", "created_at", "started_at", "finished_at"]
            read_only_fields = ["id", "attempts", "created_at", "started_at", "finished_at"]
            extra_kwargs = {"priority": {"default": 1}}

    class Usual(APIView):
        authentication_classes = AUTHENTICATION
        parser_classes = [JSONParser]
        renderer_classes = [JSONRenderer]

        def post(self, request: Any) -> Response:
            serializer = JobSerializer(data=request.data)
            serializer.is_valid(raise_exception=True)
            with transaction.atomic():
                now = timezone.now()
                job = serializer.save(
                    id=new_id(), tenant_id=request.user.tenant_id, host="shop.example", max_attempts=5, deadline_s=60.0,
                    created_at=now, deadline_at=now, attempts=0, lost=0, last_number=0,
                )  # fmt: skip
            return Response(JobSerializer(job).data, status=202)

        def get(self, request: Any) -> Response:
            job = Job.objects.get(tenant_id=request.user.tenant_id, id=request.query_params["id"])
            return Response(JobSerializer(job).data)

    return [path("bench/noop", noop), path("bench/usual", Usual.as_view()), *ours]


def __getattr__(name: str) -> Any:
    """Django asks for `urlpatterns` when it is set up, and not before."""
    if name == "urlpatterns":
        globals()["urlpatterns"] = _urlpatterns()
        return globals()["urlpatterns"]
    raise AttributeError(name)
