from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "scrapejobs.ops"

    def ready(self) -> None:
        from scrapejobs.ops import checks  # noqa: F401 - registers them
