from django.apps import AppConfig


class WorkerConfig(AppConfig):
    name = "scrapejobs.worker"
