from django.apps import AppConfig


class QueryConfig(AppConfig):
    name = "scrapejobs.query"
