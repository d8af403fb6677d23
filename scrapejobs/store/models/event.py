from django.db import models


class Event(models.Model):
    """One finish of a job (P6): written once, in the statement that stamps `finish_published_at`. Partitioned by day on
    `id`. `xid` gives the feed its commit order.
    """

    id = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField()
    xid = models.BigIntegerField()
    job_id = models.UUIDField()
    tenant_id = models.IntegerField()
    status = models.TextField()
    finished_at = models.DateTimeField()

    class Meta:
        db_table = "event"
        ordering = ["seq"]
