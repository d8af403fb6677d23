from django.apps import AppConfig


class SchedulerConfig(AppConfig):
    name = "scrapejobs.scheduler"
    label = "scheduler"
    default_auto_field = "django.db.models.BigAutoField"
