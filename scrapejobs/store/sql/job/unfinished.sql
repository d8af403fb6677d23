-- Unfinished jobs that match, some at a time, oldest first of each tenant: what a cancel of many goes through.
-- FR-5, case S20. In the order of the index job_tenant_unfinished, so that a batch begins behind the one before it.
SELECT tenant_id, id FROM job
WHERE final_state IS NULL
    AND (%(after_id)s::uuid IS NULL OR (tenant_id, id) > (%(after_tenant_id)s::bigint, %(after_id)s::uuid))
    AND (%(tenant_id)s::bigint IS NULL OR tenant_id = %(tenant_id)s::bigint)
    AND (%(host)s::text IS NULL OR host = %(host)s::text)
    AND (%(priority)s::smallint IS NULL OR priority = %(priority)s::smallint)
    AND (%(tags)s::jsonb IS NULL OR tags @> %(tags)s::jsonb)
    AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s::timestamptz)
    AND (%(until)s::timestamptz IS NULL OR created_at <= %(until)s::timestamptz)
    AND (%(running)s::boolean IS NULL
        OR EXISTS (SELECT FROM lease WHERE lease.job_id = job.id) = %(running)s::boolean)
ORDER BY tenant_id, id
LIMIT %(limit)s::bigint
