"""What the gateway serves."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scrapejobs.settings")
application = get_wsgi_application()
