from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from scrapejobs.store.models.tenant import Tenant


class ApiKey(models.Model):
    """A tenant's key: `sj_<public_id>_<secret>`. Only the SHA-256 of the secret is kept; it is 160 random bits, so a
    slow hash would add cost and no safety.
    """

    public_id = models.CharField(max_length=16, unique=True)
    secret_sha256 = models.BinaryField(max_length=32, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="keys")
    scopes = ArrayField(models.CharField(max_length=10), help_text="read, submit")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "api_key"
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"sj_{self.public_id}_***"
