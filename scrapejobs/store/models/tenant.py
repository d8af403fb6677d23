from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from scrapejobs.store.models.host import MOST


class Tenant(models.Model):
    """The client account that owns jobs and keys, with its share and its quotas (FR-12)."""

    name = models.CharField(max_length=100, unique=True, db_comment="what people call it")
    weight = models.FloatField(
        default=1.0,
        db_default=1.0,
        help_text="Share of the workers beside other tenants.",
        db_comment="fair share",
    )
    rate = models.FloatField(
        null=True, blank=True, help_text="API requests a second of a key; empty: as the settings say."
    )
    burst = models.FloatField(null=True, blank=True, help_text="API requests at once; empty: a second's worth.")
    daily = models.IntegerField(null=True, blank=True, help_text="Jobs a day; empty: no limit.")
    max_running = models.IntegerField(null=True, blank=True, help_text="Jobs in progress at once; empty: no limit.")
    max_queued = models.IntegerField(null=True, blank=True, help_text="Jobs waiting at once; empty: no limit.")
    robots = models.BooleanField(
        default=False, db_default=False, help_text="Whether all of its jobs obey the robots.txt of their hosts."
    )
    webhook_secret = models.CharField(max_length=100, editable=False, db_comment="whsec_... of Standard Webhooks")
    webhook_secret_old = models.CharField(
        max_length=100, null=True, editable=False, db_comment="the secret before, which signs beside it"
    )
    webhook_secret_old_until = models.DateTimeField(
        null=True, editable=False, db_comment="from then on it signs no more"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "tenant"
        constraints = [
            models.CheckConstraint(condition=Q(weight__gte=1 / MOST, weight__lte=MOST), name="tenant_weight_positive"),
            models.CheckConstraint(
                condition=Q(max_running__isnull=True) | Q(max_running__gte=1), name="tenant_max_running"
            ),
            models.CheckConstraint(
                condition=Q(max_queued__isnull=True) | Q(max_queued__gte=0), name="tenant_max_queued"
            ),
            models.CheckConstraint(
                condition=Q(rate__isnull=True) | Q(rate__gt=0, rate__lte=MOST), name="tenant_rate_positive"
            ),
            models.CheckConstraint(
                condition=Q(burst__isnull=True) | Q(burst__gte=1, burst__lte=MOST), name="tenant_burst"
            ),
            models.CheckConstraint(condition=Q(daily__isnull=True) | Q(daily__gte=0), name="tenant_daily"),
        ]
        ordering = [F("name").asc()]

    def __str__(self) -> str:
        return self.name
