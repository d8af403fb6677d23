from django.db import models
from django.db.models.functions import Now


class OptOut(models.Model):
    """A host whose owner does not want to be fetched: an exact name, or `*.domain` for all below it."""

    name = models.CharField(max_length=255, primary_key=True, help_text="shop.example, or *.shop.example")
    reason = models.CharField(max_length=500, blank=True, default="", db_default="", help_text="Who asked, and when.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "opt_out"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
