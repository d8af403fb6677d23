from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "scrapejobs.ops"
    label = "ops"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from scrapejobs.ops import checks  # noqa: F401 - registers them
