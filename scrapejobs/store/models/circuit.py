from django.db import models


class Circuit(models.Model):
    """A host's circuit breaker (FR-11). Closed while `retry_at` is NULL; then `failures` counts those in a row. Else
    open until `retry_at`, and from then on half-open: one trial at a time, of which `successes` in a row were good.
    `share`: of the host's rate, what it has shown to bear. `busy` counts the answers 429 and 503 since it was closed.
    """

    host = models.TextField(primary_key=True)
    failures = models.IntegerField()
    busy = models.IntegerField(default=0)
    successes = models.IntegerField()
    retry_at = models.DateTimeField(null=True)
    reason = models.TextField(null=True)
    share = models.FloatField(default=1.0)
    cut_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField()

    class Meta:
        db_table = "circuit"
        ordering = ["host"]

    def __str__(self) -> str:
        return self.host


class CircuitChange(models.Model):
    """When a host's circuit opened or closed, and why: the code of the failure, or `operator`."""

    id = models.BigAutoField(primary_key=True)
    host = models.TextField()
    at = models.DateTimeField()
    change = models.TextField()
    reason = models.TextField(null=True)

    class Meta:
        db_table = "circuit_change"
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.host} {self.change}"
