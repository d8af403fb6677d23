from django.db import migrations, models

COLUMNS = """
ALTER TABLE host_sign ADD COLUMN is_busy boolean NOT NULL DEFAULT false;
ALTER TABLE circuit ADD COLUMN busy integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN circuit.busy IS 'answers 429 and 503 in a row that did not say how long to wait';
"""
NO_COLUMNS = "ALTER TABLE host_sign DROP COLUMN is_busy; ALTER TABLE circuit DROP COLUMN busy"


class Migration(migrations.Migration):
    """Busy answers of hosts open their circuits."""

    dependencies = [("store", "0005_pre_permits")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(COLUMNS, NO_COLUMNS)],
            state_operations=[migrations.AddField("Circuit", "busy", models.IntegerField(default=0))],
        ),
    ]
