from django.db import migrations, models

TABLE = """
CREATE TABLE depth (
    id smallint PRIMARY KEY CONSTRAINT depth_one_row CHECK (id = 1),
    counted_at timestamptz NOT NULL,
    queued bigint NOT NULL,
    tenants jsonb NOT NULL,
    hosts jsonb NOT NULL,
    oldest_runnable_at timestamptz
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE depth IS 'the last count of what is queued; one row';
"""


class Migration(migrations.Migration):
    """Counts of what is queued, by tenant and by host."""

    dependencies = [("store", "0013_pre_learning")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(TABLE, "DROP TABLE depth")],
            state_operations=[
                migrations.CreateModel(
                    name="Depth",
                    fields=[
                        ("id", models.SmallIntegerField(primary_key=True, serialize=False)),
                        ("counted_at", models.DateTimeField()),
                        ("queued", models.BigIntegerField()),
                        ("tenants", models.JSONField()),
                        ("hosts", models.JSONField()),
                        ("oldest_runnable_at", models.DateTimeField(null=True)),
                    ],
                    options={"db_table": "depth"},
                ),
            ],
        ),
    ]
