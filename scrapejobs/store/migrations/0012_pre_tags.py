from django.db import migrations


class Migration(migrations.Migration):
    """An index for lists by tag: a tag that few jobs have is found without walking through all jobs of the tenant."""

    dependencies = [("store", "0011_pre_usage")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX job_tags ON job USING gin (tags jsonb_path_ops) WHERE tags <> '{}'", "DROP INDEX job_tags"
        ),
    ]
