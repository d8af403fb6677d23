from django.db import migrations


class Migration(migrations.Migration):
    """Permits of redirected attempts: a redirect is a request of its own to the host that it leads to."""

    dependencies = [("store", "0004_pre_crowded")]

    operations = [
        migrations.RunSQL(
            "CREATE TABLE permit (seq bigint PRIMARY KEY, host text NOT NULL, n bigint NOT NULL,"
            " asked_at timestamptz NOT NULL DEFAULT clock_timestamp(), given_at timestamptz);"
            "CREATE INDEX permit_asked ON permit (asked_at) WHERE given_at IS NULL;"
            "ALTER TABLE permit SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);"
            "COMMENT ON TABLE permit IS 'where a redirected attempt has, or waits for, the slot that its lease is"
            " otherwise; goes with the lease of that seq';"
            "COMMENT ON COLUMN permit.n IS 'grows with each time that the worker asks; a late statement changes nothing'",
            "DROP TABLE permit",
        ),
    ]
