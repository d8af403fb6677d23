from django.db import migrations, models

COLUMNS = """
ALTER TABLE circuit ADD COLUMN share float8 NOT NULL DEFAULT 1, ADD COLUMN cut_at timestamptz;
COMMENT ON COLUMN circuit.share IS 'of the rate that is set, what the host has shown to bear; below 1 only while rates are learned';
"""


class Migration(migrations.Migration):
    """Learned rates of hosts."""

    dependencies = [("store", "0012_pre_tags")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(COLUMNS, "ALTER TABLE circuit DROP COLUMN share, DROP COLUMN cut_at")
            ],
            state_operations=[
                migrations.AddField("Circuit", "share", models.FloatField(default=1.0)),
                migrations.AddField("Circuit", "cut_at", models.DateTimeField(null=True)),
            ],
        ),
    ]
