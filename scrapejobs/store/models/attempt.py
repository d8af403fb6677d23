from django.db import models


class Attempt(models.Model):
    """One ended try of a job, with its outcome (FR-7). A try under way is its `lease` row. Partitioned by day on
    `job_id`; `seq` alone is unique too, which is what Django needs.
    """

    seq = models.BigIntegerField(primary_key=True)
    job = models.ForeignKey("store.Job", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    number = models.IntegerField()
    worker = models.TextField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    outcome = models.TextField()
    code = models.TextField(null=True)
    detail = models.TextField(null=True)
    charged = models.BooleanField()
    target_status = models.SmallIntegerField(null=True)
    phase = models.TextField(null=True)
    bytes = models.BigIntegerField()
    exchange = models.JSONField()

    class Meta:
        db_table = "attempt"
        ordering = ["number"]
