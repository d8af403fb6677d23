from django.db import migrations


class Migration(migrations.Migration):
    """The dispatcher reads lanes a window at a time: what is behind a window is found by this index."""

    atomic = False  # an index is built concurrently, while jobs come in

    dependencies = [("store", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX CONCURRENTLY queued_lane ON queued (priority, tenant_id, host, seq) WHERE NOT front",
            "DROP INDEX CONCURRENTLY queued_lane",
        ),
    ]
