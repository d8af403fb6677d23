from django.db import migrations, models

TABLES = """
CREATE TABLE delivery_try (
    event_id uuid NOT NULL,
    number smallint NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    duration_s float8,
    status smallint,
    error text,
    next_try_at timestamptz,
    PRIMARY KEY (event_id, number)
);
COMMENT ON TABLE delivery_try IS 'the delivery log: a row for each try, written before its post; without a duration it is under way, or its courier is gone';

CREATE TABLE endpoint (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id bigint NOT NULL,
    mark bytea NOT NULL,
    origin text NOT NULL,
    failing_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures integer NOT NULL DEFAULT 1,
    off_at timestamptz,
    reason text CONSTRAINT endpoint_reason_known CHECK (reason IN ('gone', 'failing')),
    CONSTRAINT endpoint_mark UNIQUE (tenant_id, mark),
    CONSTRAINT endpoint_off_has_reason CHECK ((off_at IS NULL) = (reason IS NULL))
);
COMMENT ON TABLE endpoint IS 'callback URLs, up to their query, whose latest try failed; one that takes an event is not here';
COMMENT ON COLUMN endpoint.mark IS 'keyed mark of the URL, which may be a secret';
COMMENT ON COLUMN endpoint.failures IS 'failed tries since failing_since, without a good one between';

ALTER TABLE delivery ADD COLUMN uncharged smallint NOT NULL DEFAULT 0, ADD COLUMN redelivered_at timestamptz,
    ADD COLUMN endpoint bytea,
    ADD COLUMN origin text GENERATED ALWAYS AS (lower(substring(url FROM '^[^:]+://[^/?#]*'))) STORED;
COMMENT ON COLUMN delivery.tries IS 'tries begun';
COMMENT ON COLUMN delivery.uncharged IS 'tries that the schedule does not count: before it was sent again, or that ended through us';
COMMENT ON COLUMN delivery.endpoint IS 'the mark of the endpoint that it was last tried at';
CREATE INDEX delivery_due_origin ON delivery (next_try_at) INCLUDE (event_id, origin) WHERE state = 'pending';
DROP INDEX delivery_due;
CREATE INDEX delivery_tenant ON delivery (tenant_id, event_id);
"""
BACK = """
CREATE INDEX delivery_due ON delivery (next_try_at) WHERE state = 'pending';
DROP INDEX delivery_due_origin, delivery_tenant;
ALTER TABLE delivery DROP COLUMN uncharged, DROP COLUMN redelivered_at, DROP COLUMN endpoint, DROP COLUMN origin;
DROP TABLE delivery_try, endpoint;
"""


class Migration(migrations.Migration):
    """Webhooks: the log of their tries, endpoints that are switched off, and a second live secret."""

    dependencies = [("store", "0008_pre_opt_outs")]

    operations = [
        migrations.RunSQL(
            TABLES,
            BACK,
            state_operations=[
                migrations.CreateModel(
                    name="Endpoint",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        (
                            "tenant",
                            models.ForeignKey("store.Tenant", models.DO_NOTHING, db_constraint=False, related_name="+"),
                        ),
                        ("origin", models.TextField()),
                        ("failing_since", models.DateTimeField()),
                        ("failures", models.IntegerField()),
                        ("off_at", models.DateTimeField(null=True)),
                        ("reason", models.TextField(null=True)),
                    ],
                    options={"db_table": "endpoint", "ordering": ["-id"]},
                ),
                migrations.AddField("delivery", "redelivered_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            "tenant",
            "webhook_secret_old",
            models.CharField(
                max_length=100, null=True, editable=False, db_comment="the secret before, which signs beside it"
            ),
        ),
        migrations.AddField(
            "tenant",
            "webhook_secret_old_until",
            models.DateTimeField(null=True, editable=False, db_comment="from then on it signs no more"),
        ),
    ]
