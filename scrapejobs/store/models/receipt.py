from django.db import models
from django.db.models.functions import Now


class Receipt(models.Model):
    """What an Idempotency-Key of a tenant was answered with (FR-2): the job, and a fingerprint of the request."""

    pk = models.CompositePrimaryKey("tenant_id", "key")
    tenant_id = models.IntegerField()
    key = models.CharField(max_length=255)
    fingerprint = models.BinaryField(max_length=36, db_comment="keyed mark of path and canonical body")
    job_id = models.UUIDField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "receipt"
        indexes = [models.Index(fields=["created_at"], name="receipt_created_at")]
