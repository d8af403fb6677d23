from django.db import migrations, models

TABLE = """
CREATE TABLE usage (
    tenant_id bigint NOT NULL,
    day date NOT NULL,
    jobs integer NOT NULL,
    PRIMARY KEY (tenant_id, day)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE usage IS 'jobs that tenants with a daily quota handed in, by day of UTC';
"""


class Migration(migrations.Migration):
    """Daily quotas: how many jobs a tenant handed in on a day."""

    dependencies = [("store", "0010_pre_robots")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(TABLE, "DROP TABLE usage")],
            state_operations=[
                migrations.CreateModel(
                    name="Usage",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "tenant_id", "day", blank=True, editable=False, primary_key=True, serialize=False
                            ),
                        ),
                        ("tenant_id", models.BigIntegerField()),
                        ("day", models.DateField()),
                        ("jobs", models.IntegerField()),
                    ],
                    options={"db_table": "usage"},
                ),
            ],
        ),
        migrations.AlterField(
            "Tenant",
            "rate",
            models.FloatField(
                null=True, blank=True, help_text="API requests a second of a key; empty: as the settings say."
            ),
        ),
        migrations.AlterField(
            "Tenant",
            "burst",
            models.FloatField(null=True, blank=True, help_text="API requests at once; empty: a second's worth."),
        ),
    ]
