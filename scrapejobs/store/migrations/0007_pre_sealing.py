from django.db import migrations, models


class Migration(migrations.Migration):
    """Secrets of jobs, sealed: what URL, params and callback URL no longer say in plain text (ADR-0025)."""

    dependencies = [("store", "0006_pre_busy")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE job ADD COLUMN sealed bytea, ADD COLUMN callback_sealed bytea;"
            "ALTER TABLE delivery ADD COLUMN sealed bytea;"
            "COMMENT ON COLUMN job.sealed IS 'what is masked in url and params; NULL: nothing, empty: erased';"
            "COMMENT ON COLUMN job.callback_sealed IS 'the callback URL, if it is masked in callback_url';"
            "COMMENT ON COLUMN delivery.sealed IS 'the URL, if it is masked in url'",
            "ALTER TABLE job DROP COLUMN sealed, DROP COLUMN callback_sealed; ALTER TABLE delivery DROP COLUMN sealed",
            state_operations=[
                migrations.AddField("job", "sealed", models.BinaryField(null=True)),
                migrations.AddField("job", "callback_sealed", models.BinaryField(null=True)),
                migrations.AddField("delivery", "sealed", models.BinaryField(null=True)),
            ],
        ),
        migrations.AlterField(
            "receipt", "fingerprint", models.BinaryField(max_length=36, db_comment="keyed mark of path and canonical body")
        ),
    ]
