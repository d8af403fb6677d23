from django.db import migrations, models

TABLES = """
CREATE TABLE host_sign (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host text NOT NULL,
    is_good boolean NOT NULL,
    code text,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX host_sign_host ON host_sign (host);
ALTER TABLE host_sign SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
COMMENT ON TABLE host_sign IS 'what ended attempts said about their hosts; the dispatcher takes it within a tick';

CREATE TABLE circuit (
    host text PRIMARY KEY,
    failures integer NOT NULL,
    successes integer NOT NULL,
    retry_at timestamptz,
    reason text,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX circuit_open ON circuit (host) WHERE retry_at IS NOT NULL;
COMMENT ON COLUMN circuit.retry_at IS 'NULL: closed; else nothing starts before it, and from then on one job at a time';

CREATE TABLE circuit_change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    change text NOT NULL CONSTRAINT circuit_change_known CHECK (change IN ('opened', 'closed')),
    reason text
);
CREATE INDEX circuit_change_host ON circuit_change (host, id);
"""


class Migration(migrations.Migration):
    """Circuit breakers of hosts: state, history, and what attempts said about their hosts."""

    dependencies = [("store", "0002_pre_lanes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(TABLES, "DROP TABLE host_sign, circuit, circuit_change")],
            state_operations=[
                migrations.CreateModel(
                    name="Circuit",
                    fields=[
                        ("host", models.TextField(primary_key=True, serialize=False)),
                        ("failures", models.IntegerField()),
                        ("successes", models.IntegerField()),
                        ("retry_at", models.DateTimeField(null=True)),
                        ("reason", models.TextField(null=True)),
                        ("changed_at", models.DateTimeField()),
                    ],
                    options={"db_table": "circuit", "ordering": ["host"]},
                ),
                migrations.CreateModel(
                    name="CircuitChange",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("host", models.TextField()),
                        ("at", models.DateTimeField()),
                        ("change", models.TextField()),
                        ("reason", models.TextField(null=True)),
                    ],
                    options={"db_table": "circuit_change", "ordering": ["-id"]},
                ),
            ],
        ),
    ]
