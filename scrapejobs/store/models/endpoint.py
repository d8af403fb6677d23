from django.db import models

from scrapejobs.store.models.tenant import Tenant


class Endpoint(models.Model):
    """A callback URL up to its query, of one tenant, whose latest try failed; switched off while `off_at` is set."""

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, models.DO_NOTHING, db_constraint=False, related_name="+")
    origin = models.TextField()
    failing_since = models.DateTimeField()
    failures = models.IntegerField()
    off_at = models.DateTimeField(null=True)
    reason = models.TextField(null=True)

    class Meta:
        db_table = "endpoint"
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.origin
