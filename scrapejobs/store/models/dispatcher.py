from django.db import models


class Dispatcher(models.Model):
    """One row: who dispatches, until when, and the epoch that fences every dispatch."""

    one = models.BooleanField(primary_key=True)
    epoch = models.BigIntegerField()
    holder = models.TextField(null=True)
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "dispatcher"
