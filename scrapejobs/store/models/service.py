from django.db import models


class Service(models.Model):
    """A live process, by its heartbeat. A lease is on the job and never derived from here (case S10)."""

    id = models.UUIDField(primary_key=True)
    role = models.TextField()
    name = models.TextField()
    hostname = models.TextField()
    pid = models.IntegerField()
    slots = models.IntegerField()
    draining = models.BooleanField()
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "service"
        ordering = ["role", "name"]

    def __str__(self) -> str:
        return f"{self.role} {self.name}"
