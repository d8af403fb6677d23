"""What the gateway serves: the two surfaces of the API, and the operator's admin."""

from typing import Final

from django.conf import settings

from scrapejobs.gateway.routes import Route, patterns
from scrapejobs.intake.routes import ROUTES as INTAKE
from scrapejobs.query.routes import ROUTES as QUERY

SURFACES: Final[dict[str, tuple[Route, ...]]] = {"intake": INTAKE, "query": QUERY, "all": (*INTAKE, *QUERY)}

urlpatterns = patterns(SURFACES[settings.CONFIG.surface])

handler400 = "scrapejobs.gateway.errors.bad_request"
handler403 = "scrapejobs.gateway.errors.permission_denied"
handler404 = "scrapejobs.gateway.errors.page_not_found"
handler500 = "scrapejobs.gateway.errors.server_error"
