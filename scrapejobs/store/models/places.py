"""The places of an unfinished job. All are small and hot: they hold only what waits or runs."""

from django.db import models


class Queued(models.Model):
    """Appended by publisher, sweeper and report; taken by the dispatcher. `seq` is the fence of one delivery."""

    seq = models.BigAutoField(primary_key=True)
    job_id = models.UUIDField(unique=True)
    priority = models.SmallIntegerField()
    tenant_id = models.IntegerField()
    host = models.TextField()
    front = models.BooleanField()
    queued_at = models.DateTimeField()
    xid = models.BigIntegerField()

    class Meta:
        db_table = "queued"


class Delayed(models.Model):
    """A retry that waits for its time."""

    job_id = models.UUIDField(primary_key=True)
    due_at = models.DateTimeField()
    priority = models.SmallIntegerField()
    tenant_id = models.IntegerField()
    host = models.TextField()

    class Meta:
        db_table = "delayed"


class Ready(models.Model):
    """May start now: its host's slot and token are spent. Lives a second or two at most (`READY_TTL_S`)."""

    pos = models.BigAutoField(primary_key=True)
    seq = models.BigIntegerField(unique=True)
    job_id = models.UUIDField(unique=True)
    priority = models.SmallIntegerField()
    tenant_id = models.IntegerField()
    host = models.TextField()
    queued_at = models.DateTimeField()
    ready_at = models.DateTimeField()

    class Meta:
        db_table = "ready"


class Lease(models.Model):
    """A running attempt: a worker's time-limited right to it, and one of its host's slots."""

    seq = models.BigIntegerField(primary_key=True)
    job_id = models.UUIDField(unique=True)
    number = models.IntegerField()
    priority = models.SmallIntegerField()
    tenant_id = models.IntegerField()
    host = models.TextField()
    worker_id = models.UUIDField()
    worker = models.TextField()
    started_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "lease"
