from django.apps import AppConfig


class WorkerConfig(AppConfig):
    name = "scrapejobs.worker"
    label = "worker"
    default_auto_field = "django.db.models.BigAutoField"
