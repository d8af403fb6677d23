from datetime import UTC, datetime
from typing import Final

from django.db import models
from django.db.models import Q

MOST: Final = 1e6
"""Far above what anyone needs. To Postgres NaN and infinity are above it, with which no picker can count."""

PAUSES: Final = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))
"""A pause ends at a time that has a distance from now: not at 'infinity'."""


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
            models.CheckConstraint(
                condition=Q(rate__isnull=True) | Q(rate__gt=0, rate__lte=MOST), name="host_rate_positive"
            ),
            models.CheckConstraint(
                condition=Q(burst__isnull=True) | Q(burst__gte=1, burst__lte=MOST), name="host_burst"
            ),
            models.CheckConstraint(
                condition=Q(concurrency__isnull=True) | Q(concurrency__gte=1), name="host_concurrency"
            ),
            models.CheckConstraint(
                condition=Q(paused_until__isnull=True) | Q(paused_until__range=PAUSES), name="host_pause_finite"
            ),
        ]

    def __str__(self) -> str:
        return self.name
