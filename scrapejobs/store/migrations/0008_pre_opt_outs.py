from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """Opt-outs: hosts whose owners do not want to be fetched."""

    dependencies = [("store", "0007_pre_sealing")]

    operations = [
        migrations.CreateModel(
            "OptOut",
            [
                (
                    "name",
                    models.CharField(
                        max_length=255, primary_key=True, serialize=False, help_text="shop.example, or *.shop.example"
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        max_length=500, blank=True, default="", db_default="", help_text="Who asked, and when."
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=Now(), editable=False)),
            ],
            options={"db_table": "opt_out", "ordering": ["name"]},
        ),
    ]
