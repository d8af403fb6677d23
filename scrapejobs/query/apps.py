from django.apps import AppConfig


class QueryConfig(AppConfig):
    name = "scrapejobs.query"
    label = "query"
    default_auto_field = "django.db.models.BigAutoField"
