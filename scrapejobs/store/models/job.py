from django.db import models


class Job(models.Model):
    """What a client asked for: fetch one target once. Partitioned by day on `id`.

    `final_state` is NULL until the job is final. Until then it is in one place: unpublished (`published_at` NULL),
    `queued`, `delayed`, `ready` or `lease` (ADR-0012).
    """

    class FinalState(models.TextChoices):
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Priority(models.IntegerChoices):
        HIGH = 0
        NORMAL = 1
        LOW = 2

    id = models.UUIDField(primary_key=True, editable=False)
    tenant = models.ForeignKey("store.Tenant", on_delete=models.PROTECT, db_constraint=False, db_index=False)
    priority = models.SmallIntegerField(choices=Priority.choices)
    url = models.TextField()
    host = models.TextField()
    params = models.JSONField()
    sealed = models.BinaryField(null=True)
    callback_url = models.TextField(null=True)
    callback_sealed = models.BinaryField(null=True)
    tags = models.JSONField()
    max_attempts = models.SmallIntegerField()
    created_at = models.DateTimeField()
    deadline_s = models.FloatField()
    deadline_at = models.DateTimeField()
    published_at = models.DateTimeField(null=True)

    attempts = models.SmallIntegerField()
    lost = models.SmallIntegerField()
    last_number = models.IntegerField()
    started_at = models.DateTimeField(null=True)
    error_class = models.TextField(null=True)
    error_code = models.TextField(null=True)
    error_detail = models.TextField(null=True)
    error_at = models.DateTimeField(null=True)

    final_state = models.TextField(null=True, choices=FinalState.choices)
    finished_at = models.DateTimeField(null=True)
    finish_published_at = models.DateTimeField(null=True)
    discarded_at = models.DateTimeField(null=True)

    result_key = models.TextField(null=True)
    result_size = models.BigIntegerField(null=True)
    result_sha256 = models.TextField(null=True)
    result_content_type = models.TextField(null=True)
    result_complete = models.TextField(null=True)
    result_meta = models.JSONField(null=True)

    class Meta:
        db_table = "job"
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.id)
