from django.db import models
from django.db.models import Q


class Host(models.Model):
    """Limits and pause of a target host (FR-11): an exact name, or `*.domain` for all below it. A field left empty
    takes the next wider row's value, in the end the settings'.
    """

    name = models.CharField(max_length=255, primary_key=True, help_text="shop.example, or *.shop.example")
    rate = models.FloatField(null=True, blank=True, help_text="Requests a second.")
    burst = models.FloatField(null=True, blank=True, help_text="Requests at once after a quiet time.")
    concurrency = models.IntegerField(null=True, blank=True, help_text="Simultaneous connections.")
    paused_until = models.DateTimeField(null=True, blank=True)
    pause_reason = models.TextField(null=True, blank=True, help_text="operator, or retry_after")

    class Meta:
        db_table = "host"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(rate__isnull=True) | Q(rate__gt=0), name="host_rate_positive"),
            models.CheckConstraint(condition=Q(burst__isnull=True) | Q(burst__gte=1), name="host_burst"),
            models.CheckConstraint(
                condition=Q(concurrency__isnull=True) | Q(concurrency__gte=1), name="host_concurrency"
            ),
        ]

    def __str__(self) -> str:
        return self.name
