from django.db import models


class Depth(models.Model):
    """The last count of what is queued (FR-13): one row. `tenants` and `hosts`: name, number, oldest."""

    id = models.SmallIntegerField(primary_key=True)
    counted_at = models.DateTimeField()
    queued = models.BigIntegerField()
    tenants = models.JSONField()
    hosts = models.JSONField()
    oldest_runnable_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "depth"
