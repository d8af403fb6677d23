"""What the gateway serves: the two surfaces of the API, and the operator's admin."""

from typing import Final

from django.conf import settings
from django.contrib import admin
from django.contrib.staticfiles.views import serve
from django.urls import URLPattern, URLResolver, path

from scrapejobs.gateway import health
from scrapejobs.gateway.docs import with_docs
from scrapejobs.gateway.routes import Route, patterns
from scrapejobs.intake.routes import ROUTES as INTAKE
from scrapejobs.query.routes import ROUTES as QUERY

SURFACES: Final[dict[str, tuple[Route, ...]]] = {
    "intake": with_docs((*INTAKE, *health.ROUTES)),
    "query": with_docs((*QUERY, *health.ROUTES)),
    "all": with_docs((*INTAKE, *QUERY, *health.ROUTES)),
}

urlpatterns: list[URLPattern | URLResolver] = [*patterns(SURFACES[settings.CONFIG.surface])]
if settings.CONFIG.surface == "all":
    urlpatterns += [
        path("admin/", admin.site.urls),
        # The admin's own files, straight from the installed packages: a few people, no step to collect them.
        path("static/<path:path>", serve, {"insecure": True}),
    ]

handler400 = "scrapejobs.gateway.errors.bad_request"
handler403 = "scrapejobs.gateway.errors.permission_denied"
handler404 = "scrapejobs.gateway.errors.page_not_found"
handler500 = "scrapejobs.gateway.errors.server_error"
