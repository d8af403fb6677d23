from django.db import models


class Delivery(models.Model):
    """The webhook of one finish event, until it has arrived or was given up (FR-9)."""

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        GIVEN_UP = "given_up"

    event_id = models.UUIDField(primary_key=True)
    job_id = models.UUIDField(db_index=True)
    tenant_id = models.IntegerField()
    url = models.TextField()
    sealed = models.BinaryField(null=True)
    state = models.TextField(choices=State.choices)
    tries = models.SmallIntegerField()
    next_try_at = models.DateTimeField(null=True)
    last_status = models.SmallIntegerField(null=True)
    last_error = models.TextField(null=True)
    redelivered_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "delivery"
        verbose_name_plural = "deliveries"
