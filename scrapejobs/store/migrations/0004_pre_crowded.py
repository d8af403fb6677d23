from django.db import migrations


class Migration(migrations.Migration):
    """What the dispatcher tells readers about hosts without room. Unlogged: it is told anew every second."""

    dependencies = [("store", "0003_pre_circuits")]

    operations = [
        migrations.RunSQL(
            "CREATE UNLOGGED TABLE crowded (host text PRIMARY KEY, until timestamptz);"
            "ALTER TABLE crowded SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);"
            "COMMENT ON COLUMN crowded.until IS 'when time alone brings room; NULL: only the end of a job does'",
            "DROP TABLE crowded",
        ),
    ]
