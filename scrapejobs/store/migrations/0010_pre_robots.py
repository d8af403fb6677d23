from django.db import migrations, models


class Migration(migrations.Migration):
    """Whether a tenant's jobs obey robots.txt."""

    dependencies = [("store", "0009_pre_endpoints")]

    operations = [
        migrations.AddField(
            "tenant",
            "robots",
            models.BooleanField(
                default=False, db_default=False, help_text="Whether all of its jobs obey the robots.txt of their hosts."
            ),
        ),
    ]
