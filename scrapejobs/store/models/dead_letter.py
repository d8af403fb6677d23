from scrapejobs.store.models.job import Job


class DeadLetter(Job):
    """A failed job that waits for a person (FR-10): a view of jobs for the admin, in the order of its index."""

    class Meta:
        proxy = True
        verbose_name = "dead letter"
        ordering = ["host", "error_class", "error_code", "id"]
