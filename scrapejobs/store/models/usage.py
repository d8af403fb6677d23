from django.db import models


class Usage(models.Model):
    """How many jobs a tenant with a daily quota handed in on a day of UTC (FR-12)."""

    pk = models.CompositePrimaryKey("tenant_id", "day")
    tenant_id = models.BigIntegerField()
    day = models.DateField()
    jobs = models.IntegerField()

    class Meta:
        db_table = "usage"
