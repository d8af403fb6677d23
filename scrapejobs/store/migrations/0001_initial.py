from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from scrapejobs.store import partitions


TABLES = (Path(__file__).parent / "tables.sql").read_text()
DROP_TABLES = "DROP TABLE job, attempt, event, queued, delayed, ready, lease, dispatcher, service, delivery; DROP SEQUENCE ready_floor"


def first_partitions(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        for statement in partitions.create_statements(datetime.now(UTC).date(), days_ahead=14):
            cursor.execute(statement)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Host',
            fields=[
                ('name', models.CharField(help_text='shop.example, or *.shop.example', max_length=255, primary_key=True, serialize=False)),
                ('rate', models.FloatField(blank=True, help_text='Requests a second.', null=True)),
                ('burst', models.FloatField(blank=True, help_text='Requests at once after a quiet time.', null=True)),
                ('concurrency', models.IntegerField(blank=True, help_text='Simultaneous connections.', null=True)),
                ('paused_until', models.DateTimeField(blank=True, null=True)),
                ('pause_reason', models.TextField(blank=True, help_text='operator, or retry_after', null=True)),
            ],
            options={
                'db_table': 'host',
                'ordering': ['name'],
                'constraints': [models.CheckConstraint(condition=models.Q(('rate__isnull', True), models.Q(('rate__gt', 0), ('rate__lte', 1000000.0)), _connector='OR'), name='host_rate_positive'), models.CheckConstraint(condition=models.Q(('burst__isnull', True), models.Q(('burst__gte', 1), ('burst__lte', 1000000.0)), _connector='OR'), name='host_burst'), models.CheckConstraint(condition=models.Q(('concurrency__isnull', True), ('concurrency__gte', 1), _connector='OR'), name='host_concurrency'), models.CheckConstraint(condition=models.Q(('paused_until__isnull', True), ('paused_until__range', (datetime(1970, 1, 1, 0, 0, tzinfo=UTC), datetime(9999, 1, 1, 0, 0, tzinfo=UTC))), _connector='OR'), name='host_pause_finite')],
            },
        ),
        migrations.CreateModel(
            name='Receipt',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.IntegerField()),
                ('key', models.CharField(max_length=255)),
                ('fingerprint', models.BinaryField(db_comment='SHA-256 of path and canonical body', max_length=32)),
                ('job_id', models.UUIDField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'db_table': 'receipt',
                'indexes': [models.Index(fields=['created_at'], name='receipt_created_at')],
            },
        ),
        migrations.CreateModel(
            name='Tenant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(db_comment='what people call it', max_length=100, unique=True)),
                ('weight', models.FloatField(db_comment='fair share', db_default=1.0, default=1.0, help_text='Share of the workers beside other tenants.')),
                ('rate', models.FloatField(blank=True, help_text='API requests a second; empty: no limit.', null=True)),
                ('burst', models.FloatField(blank=True, help_text='API requests at once.', null=True)),
                ('daily', models.IntegerField(blank=True, help_text='Jobs a day; empty: no limit.', null=True)),
                ('max_running', models.IntegerField(blank=True, help_text='Jobs in progress at once; empty: no limit.', null=True)),
                ('max_queued', models.IntegerField(blank=True, help_text='Jobs waiting at once; empty: no limit.', null=True)),
                ('webhook_secret', models.CharField(db_comment='whsec_... of Standard Webhooks', editable=False, max_length=100)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'db_table': 'tenant',
                'ordering': [models.OrderBy(models.F('name'))],
                'constraints': [models.CheckConstraint(condition=models.Q(('weight__gte', 1e-06), ('weight__lte', 1000000.0)), name='tenant_weight_positive'), models.CheckConstraint(condition=models.Q(('max_running__isnull', True), ('max_running__gte', 1), _connector='OR'), name='tenant_max_running'), models.CheckConstraint(condition=models.Q(('max_queued__isnull', True), ('max_queued__gte', 0), _connector='OR'), name='tenant_max_queued'), models.CheckConstraint(condition=models.Q(('rate__isnull', True), models.Q(('rate__gt', 0), ('rate__lte', 1000000.0)), _connector='OR'), name='tenant_rate_positive'), models.CheckConstraint(condition=models.Q(('burst__isnull', True), models.Q(('burst__gte', 1), ('burst__lte', 1000000.0)), _connector='OR'), name='tenant_burst'), models.CheckConstraint(condition=models.Q(('daily__isnull', True), ('daily__gte', 0), _connector='OR'), name='tenant_daily')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(max_length=16, unique=True)),
                ('secret_sha256', models.BinaryField(max_length=32)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), help_text='read, submit', size=None)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='store.tenant')),
            ],
            options={
                'verbose_name': 'API key',
                'db_table': 'api_key',
            },
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Delayed',
                    fields=[
                        ('job_id', models.UUIDField(primary_key=True, serialize=False)),
                        ('due_at', models.DateTimeField()),
                        ('priority', models.SmallIntegerField()),
                        ('tenant_id', models.IntegerField()),
                        ('host', models.TextField()),
                    ],
                    options={
                        'db_table': 'delayed',
                    },
                ),
                migrations.CreateModel(
                    name='Delivery',
                    fields=[
                        ('event_id', models.UUIDField(primary_key=True, serialize=False)),
                        ('job_id', models.UUIDField(db_index=True)),
                        ('tenant_id', models.IntegerField()),
                        ('url', models.TextField()),
                        ('state', models.TextField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('given_up', 'Given Up')])),
                        ('tries', models.SmallIntegerField()),
                        ('next_try_at', models.DateTimeField(null=True)),
                        ('last_status', models.SmallIntegerField(null=True)),
                        ('last_error', models.TextField(null=True)),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'verbose_name_plural': 'deliveries',
                        'db_table': 'delivery',
                    },
                ),
                migrations.CreateModel(
                    name='Dispatcher',
                    fields=[
                        ('one', models.BooleanField(primary_key=True, serialize=False)),
                        ('epoch', models.BigIntegerField()),
                        ('holder', models.TextField(null=True)),
                        ('expires_at', models.DateTimeField()),
                    ],
                    options={
                        'db_table': 'dispatcher',
                    },
                ),
                migrations.CreateModel(
                    name='Event',
                    fields=[
                        ('id', models.UUIDField(primary_key=True, serialize=False)),
                        ('seq', models.BigIntegerField()),
                        ('xid', models.BigIntegerField()),
                        ('job_id', models.UUIDField()),
                        ('tenant_id', models.IntegerField()),
                        ('status', models.TextField()),
                        ('finished_at', models.DateTimeField()),
                    ],
                    options={
                        'db_table': 'event',
                        'ordering': ['seq'],
                    },
                ),
                migrations.CreateModel(
                    name='Job',
                    fields=[
                        ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                        ('priority', models.SmallIntegerField(choices=[(0, 'High'), (1, 'Normal'), (2, 'Low')])),
                        ('url', models.TextField()),
                        ('host', models.TextField()),
                        ('params', models.JSONField()),
                        ('callback_url', models.TextField(null=True)),
                        ('tags', models.JSONField()),
                        ('max_attempts', models.SmallIntegerField()),
                        ('created_at', models.DateTimeField()),
                        ('deadline_s', models.FloatField()),
                        ('deadline_at', models.DateTimeField()),
                        ('published_at', models.DateTimeField(null=True)),
                        ('attempts', models.SmallIntegerField()),
                        ('lost', models.SmallIntegerField()),
                        ('last_number', models.IntegerField()),
                        ('started_at', models.DateTimeField(null=True)),
                        ('error_class', models.TextField(null=True)),
                        ('error_code', models.TextField(null=True)),
                        ('error_detail', models.TextField(null=True)),
                        ('error_at', models.DateTimeField(null=True)),
                        ('final_state', models.TextField(choices=[('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], null=True)),
                        ('finished_at', models.DateTimeField(null=True)),
                        ('finish_published_at', models.DateTimeField(null=True)),
                        ('discarded_at', models.DateTimeField(null=True)),
                        ('result_key', models.TextField(null=True)),
                        ('result_size', models.BigIntegerField(null=True)),
                        ('result_sha256', models.TextField(null=True)),
                        ('result_content_type', models.TextField(null=True)),
                        ('result_complete', models.TextField(null=True)),
                        ('result_meta', models.JSONField(null=True)),
                    ],
                    options={
                        'db_table': 'job',
                        'ordering': ['-id'],
                    },
                ),
                migrations.CreateModel(
                    name='DeadLetter',
                    fields=[],
                    options={
                        'verbose_name': 'dead letter',
                        'ordering': ['host', 'error_class', 'error_code', 'id'],
                        'proxy': True,
                        'indexes': [],
                        'constraints': [],
                    },
                    bases=('store.job',),
                ),
                migrations.CreateModel(
                    name='Lease',
                    fields=[
                        ('seq', models.BigIntegerField(primary_key=True, serialize=False)),
                        ('job_id', models.UUIDField(unique=True)),
                        ('number', models.IntegerField()),
                        ('priority', models.SmallIntegerField()),
                        ('tenant_id', models.IntegerField()),
                        ('host', models.TextField()),
                        ('worker_id', models.UUIDField()),
                        ('worker', models.TextField()),
                        ('started_at', models.DateTimeField()),
                        ('expires_at', models.DateTimeField()),
                    ],
                    options={
                        'db_table': 'lease',
                    },
                ),
                migrations.CreateModel(
                    name='Queued',
                    fields=[
                        ('seq', models.BigAutoField(primary_key=True, serialize=False)),
                        ('job_id', models.UUIDField(unique=True)),
                        ('priority', models.SmallIntegerField()),
                        ('tenant_id', models.IntegerField()),
                        ('host', models.TextField()),
                        ('front', models.BooleanField()),
                        ('queued_at', models.DateTimeField()),
                        ('xid', models.BigIntegerField()),
                    ],
                    options={
                        'db_table': 'queued',
                    },
                ),
                migrations.CreateModel(
                    name='Ready',
                    fields=[
                        ('pos', models.BigAutoField(primary_key=True, serialize=False)),
                        ('seq', models.BigIntegerField(unique=True)),
                        ('job_id', models.UUIDField(unique=True)),
                        ('priority', models.SmallIntegerField()),
                        ('tenant_id', models.IntegerField()),
                        ('host', models.TextField()),
                        ('queued_at', models.DateTimeField()),
                        ('ready_at', models.DateTimeField()),
                    ],
                    options={
                        'db_table': 'ready',
                    },
                ),
                migrations.CreateModel(
                    name='Service',
                    fields=[
                        ('id', models.UUIDField(primary_key=True, serialize=False)),
                        ('role', models.TextField()),
                        ('name', models.TextField()),
                        ('hostname', models.TextField()),
                        ('pid', models.IntegerField()),
                        ('slots', models.IntegerField()),
                        ('draining', models.BooleanField()),
                        ('started_at', models.DateTimeField()),
                        ('seen_at', models.DateTimeField()),
                    ],
                    options={
                        'db_table': 'service',
                        'ordering': ['role', 'name'],
                    },
                ),
                migrations.CreateModel(
                    name='Attempt',
                    fields=[
                        ('seq', models.BigIntegerField(primary_key=True, serialize=False)),
                        ('number', models.IntegerField()),
                        ('worker', models.TextField()),
                        ('started_at', models.DateTimeField()),
                        ('finished_at', models.DateTimeField()),
                        ('outcome', models.TextField()),
                        ('code', models.TextField(null=True)),
                        ('detail', models.TextField(null=True)),
                        ('charged', models.BooleanField()),
                        ('target_status', models.SmallIntegerField(null=True)),
                        ('phase', models.TextField(null=True)),
                        ('bytes', models.BigIntegerField()),
                        ('exchange', models.JSONField()),
                        ('job', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='store.job')),
                    ],
                    options={
                        'db_table': 'attempt',
                        'ordering': ['number'],
                    },
                ),
                migrations.AddField(
                    model_name='job',
                    name='tenant',
                    field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, to='store.tenant'),
                ),
            ],
            database_operations=[migrations.RunSQL(TABLES, DROP_TABLES)],
        ),
        migrations.RunPython(first_partitions, migrations.RunPython.noop),
    ]
